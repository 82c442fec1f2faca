-- Whatever needs a person asks which key was enrolled.
CREATE INDEX events_keys ON events (seq) WHERE kind IN ('approval.key_enrolled', 'approval.key_rotated');
-- The log of approvals is caught up with these.
CREATE INDEX events_approvals ON events (seq) WHERE kind IN (
  'approval.requested', 'approval.decided', 'approval.consumed', 'approval.key_enrolled', 'approval.key_rotated'
);
