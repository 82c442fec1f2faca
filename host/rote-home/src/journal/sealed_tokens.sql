-- A token counts with a MAC under the journal's key only. Those of before end within five minutes; they are forgotten.
DROP TABLE confirm_tokens;
CREATE TABLE confirm_tokens (
  token_sha256     TEXT PRIMARY KEY,
  adapter          TEXT NOT NULL,
  trust_json       TEXT NOT NULL,
  tool             TEXT NOT NULL,
  arguments_sha256 TEXT NOT NULL,
  scope            TEXT NOT NULL,
  created_us       INTEGER NOT NULL,
  expires_us       INTEGER NOT NULL,
  consumed_us      INTEGER,
  mac              TEXT NOT NULL
) STRICT, WITHOUT ROWID;
