-- One row per key: created_at, execution_mode and the like.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- The last number given out. Never lowered.
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counter (name, value) VALUES ('response', 0), ('command', 0);

CREATE TABLE commands (
    sequence INTEGER PRIMARY KEY,
    command_type TEXT NOT NULL,
    adapter TEXT,
    tool TEXT,
    method TEXT,
    params TEXT NOT NULL,
    arguments TEXT NOT NULL,
    status TEXT NOT NULL,
    flow TEXT,
    timestamp TEXT NOT NULL,
    skip_export INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE responses (
    id INTEGER PRIMARY KEY,
    command INTEGER NOT NULL REFERENCES commands (sequence),
    state TEXT NOT NULL CHECK (state IN ('pending', 'recorded', 'cleared')),
    owner TEXT NOT NULL,
    is_read INTEGER NOT NULL,
    is_error INTEGER NOT NULL DEFAULT 0,
    method TEXT NOT NULL,
    url TEXT NOT NULL DEFAULT '',
    status INTEGER,
    content_type TEXT NOT NULL DEFAULT '',
    body_kind TEXT NOT NULL DEFAULT 'empty',
    bytes INTEGER NOT NULL DEFAULT 0,
    sha256 TEXT,
    started_at TEXT NOT NULL,
    duration_ms INTEGER,
    error TEXT,
    request_tokens INTEGER,
    response_tokens INTEGER,
    encoding TEXT
);
CREATE INDEX responses_by_command ON responses (command);

CREATE TABLE dependencies (
    command_sequence INTEGER NOT NULL REFERENCES commands (sequence),
    position INTEGER NOT NULL,
    dependency_type TEXT NOT NULL,
    source_response INTEGER,
    source_query TEXT,
    target_field_path TEXT NOT NULL,
    variable_name TEXT,
    PRIMARY KEY (command_sequence, position)
) WITHOUT ROWID;

CREATE TABLE variables (
    name TEXT PRIMARY KEY,
    value_json TEXT NOT NULL,
    source_response INTEGER,
    source_query TEXT,
    command_sequence INTEGER,
    created_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE sessions (
    endpoint TEXT PRIMARY KEY,
    fingerprint TEXT,
    auth_source TEXT,
    session_id TEXT,
    created_at TEXT NOT NULL,
    last_used_at TEXT NOT NULL,
    expires_at TEXT
) WITHOUT ROWID;

-- One row per query command. The texts stay only until their tokens are counted.
CREATE TABLE queries (
    command_sequence INTEGER PRIMARY KEY REFERENCES commands (sequence),
    source_response INTEGER,
    source_variable TEXT,
    program TEXT NOT NULL,
    unwrap_mcp INTEGER NOT NULL,
    saved_as TEXT,
    source_bytes INTEGER NOT NULL,
    result_bytes INTEGER NOT NULL,
    source_tokens INTEGER,
    result_tokens INTEGER,
    source_text TEXT,
    result_text TEXT
);
