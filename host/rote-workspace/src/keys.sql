-- The idempotency key of rote's own that a request carries, the digest of what its key is for, rote's or the caller's,
-- and until which second a run that goes on may send it again, of which nothing is known yet.
ALTER TABLE responses ADD COLUMN idempotency_key TEXT;
ALTER TABLE responses ADD COLUMN key_for TEXT;
ALTER TABLE responses ADD COLUMN key_offered INTEGER NOT NULL DEFAULT 0;
CREATE INDEX responses_by_key ON responses (key_for) WHERE key_for IS NOT NULL;
