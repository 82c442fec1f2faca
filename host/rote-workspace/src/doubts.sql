-- The writes without an outcome: looked through before each write.
CREATE INDEX responses_unfinished ON responses (owner) WHERE state = 'pending' AND NOT is_read;
