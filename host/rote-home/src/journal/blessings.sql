-- The newest of these events of a flow says whether it is blessed, and by which blessing: each run asks for it.
CREATE INDEX IF NOT EXISTS blessings_of_flow
  ON events (CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.flow') END)
  WHERE kind IN ('flow.blessed', 'flow.unblessed', 'flow.removed');
