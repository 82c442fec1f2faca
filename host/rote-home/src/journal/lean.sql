-- Nobody asks for the events of an effect, and each event paid for the answer with a page of its own.
DROP INDEX IF EXISTS events_of_effect;
-- Only writes ask in which workspaces of their tree the same one was begun, and only for writes.
DROP INDEX IF EXISTS events_of_run;
CREATE INDEX events_of_run ON events (
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.run') END,
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.args_digest') END
) WHERE kind = 'effect.started' AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.writes') END;
