-- The columns of the seed (004), and what rote adds: what it is about, and what tells one plan from another.
CREATE TABLE approval_envelopes (
  envelope_id TEXT PRIMARY KEY,
  nonce TEXT UNIQUE NOT NULL,
  kind TEXT NOT NULL,
  scope_json TEXT NOT NULL,
  tool_calls_json TEXT NOT NULL,
  plan_hash TEXT NOT NULL,
  key_id TEXT NOT NULL,
  signed_object_json TEXT,
  signature_hex TEXT,
  state TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  consumed_at INTEGER,
  binding TEXT NOT NULL,
  about_json TEXT NOT NULL,
  decided_by TEXT,
  denial TEXT
) STRICT;
CREATE INDEX approval_envelopes_pending ON approval_envelopes (binding) WHERE state = 'pending';
