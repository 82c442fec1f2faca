-- The newest event, so that a removed end of the chain is noticed.
CREATE TABLE head (
  one    INTEGER PRIMARY KEY CHECK (one = 1),
  seq    INTEGER NOT NULL,
  sha256 TEXT NOT NULL
) STRICT;
INSERT INTO head VALUES (1, 0, '3662905baa19f5921166ec6ac7f2ee268a659b3a149f40b04a9b41fd0b2f8e59');

-- Confirm tokens: only hashes. Times are microseconds since 1970, for comparison.
CREATE TABLE confirm_tokens (
  token_sha256     TEXT PRIMARY KEY,
  adapter          TEXT NOT NULL,
  fingerprint      TEXT NOT NULL,
  tool             TEXT NOT NULL,
  arguments_sha256 TEXT NOT NULL,
  workspace        TEXT NOT NULL,
  created_us       INTEGER NOT NULL,
  expires_us       INTEGER NOT NULL,
  consumed_us      INTEGER
) STRICT, WITHOUT ROWID;
