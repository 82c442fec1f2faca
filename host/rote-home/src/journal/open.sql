-- What is open: runs that have not ended well, with what they are runs of, and the writes of which the journal does
-- not know that they were done or were not; `run` is empty where no flow made one, and what was called with which arguments
-- is known without the event, which a restart puts aside. Both follow from the events (`open.rs`).
CREATE TABLE IF NOT EXISTS open_runs (
  workspace_id TEXT NOT NULL PRIMARY KEY,
  workspace    TEXT NOT NULL,
  flow         TEXT NOT NULL,
  parameters   TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS open_writes (
  workspace_id TEXT NOT NULL,
  response     INTEGER NOT NULL,
  workspace    TEXT NOT NULL,
  run          TEXT,
  adapter      TEXT,
  tool         TEXT,
  arguments    TEXT,
  PRIMARY KEY (workspace_id, response)
) WITHOUT ROWID;
