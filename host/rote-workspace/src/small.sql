-- What `responses/@N.json` holds of a larger response: a file costs more than the whole rest of a call.
CREATE TABLE small_responses (id INTEGER PRIMARY KEY REFERENCES responses (id), content BLOB NOT NULL);
