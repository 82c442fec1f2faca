-- What `responses/@N.json` holds of other responses, of small ones of reads: a file costs more than the whole rest of a call.
CREATE TABLE small_responses (id INTEGER PRIMARY KEY REFERENCES responses (id), content BLOB NOT NULL);
