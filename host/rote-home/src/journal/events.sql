CREATE TABLE events (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL,
  ts          TEXT NOT NULL,
  kind        TEXT NOT NULL,
  effect_id   TEXT,
  body_json   TEXT NOT NULL,
  prev_sha256 TEXT NOT NULL,
  sha256      TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_effect ON events (effect_id, kind) WHERE effect_id IS NOT NULL;

-- Append only: neither a bug nor a careless hand edits history. (A determined one breaks the chain.)
CREATE TRIGGER events_are_not_updated BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append only'); END;
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append only'); END;

