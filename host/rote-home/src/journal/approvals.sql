-- Whatever needs a person asks which key was enrolled.
CREATE INDEX events_keys ON events (seq) WHERE kind = 'approval.key_enrolled';
