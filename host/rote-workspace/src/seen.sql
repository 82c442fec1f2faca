-- What the workspace saw of a file when it read or wrote it last: the digest of its bytes, none where there was no file.
CREATE TABLE seen_files (path TEXT PRIMARY KEY, sha256 TEXT) WITHOUT ROWID;
