-- A token counts with a MAC under the journal's key only. Those of before end within five minutes; they are forgotten.
DELETE FROM confirm_tokens;
ALTER TABLE confirm_tokens ADD COLUMN mac TEXT NOT NULL DEFAULT '';
