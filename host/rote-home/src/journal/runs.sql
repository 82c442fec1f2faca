-- Each write of a run asks in which workspaces of its tree the same one was begun.
CREATE INDEX events_of_run ON events (
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.run') END,
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.args_digest') END
) WHERE kind = 'effect.started';
