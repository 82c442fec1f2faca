-- From here on hashes are made with a key, and the anchor says where the chain ends. What was said of its end before stays
-- for the one check with which the chain is taken over.
ALTER TABLE head RENAME TO plain_head;
