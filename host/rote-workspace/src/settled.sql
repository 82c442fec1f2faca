-- How a person settled a doubt, and which response holds the answer that the person gave where it is another one.
ALTER TABLE responses ADD COLUMN settled TEXT CHECK (settled IN ('done', 'skipped', 'retried'));
ALTER TABLE responses ADD COLUMN answer INTEGER;
