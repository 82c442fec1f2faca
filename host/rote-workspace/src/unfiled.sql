-- The numbers whose file `responses/@N.json` does not yet have what their row in `small_responses` has.
CREATE TABLE unfiled (id INTEGER PRIMARY KEY REFERENCES responses (id));
INSERT INTO unfiled (id) SELECT id FROM small_responses;
