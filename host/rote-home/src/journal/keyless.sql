-- The same call with another idempotency key of the caller's is the same one in the whole tree of runs.
DROP INDEX IF EXISTS events_of_run;
CREATE INDEX events_of_run ON events (
  CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.run') END,
  CASE WHEN json_valid(body_json) THEN
    coalesce(json_extract(body_json, '$.call_digest'), json_extract(body_json, '$.args_digest')) END
) WHERE kind = 'effect.started' AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.writes') END;
