-- What is in `responses/@N.json`, of small responses of reads: a file costs more than the whole rest of a call, and is made later.
CREATE TABLE small_responses (id INTEGER PRIMARY KEY REFERENCES responses (id), content BLOB NOT NULL);
