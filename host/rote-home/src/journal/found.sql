-- Finds the events of a response by the number under which a workspace keeps it. A body that somebody broke by hand is not
-- found, and does not keep the journal from being opened.
CREATE INDEX events_started ON events (
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.workspace') END,
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.response') END
) WHERE kind = 'effect.started';
CREATE INDEX events_settled ON events (
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.workspace') END,
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.response') END
) WHERE kind = 'effect.settled';
-- The newest of these events of a flow says whether it is blessed, and by which blessing: each run asks for it.
CREATE INDEX blessings_of_flow
  ON events (CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.flow') END)
  WHERE kind IN ('flow.blessed', 'flow.unblessed', 'flow.removed');
