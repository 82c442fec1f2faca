-- Each call asks whom TLS was last said to trust.
CREATE INDEX events_trust ON events (seq) WHERE kind = 'trust.changed';
