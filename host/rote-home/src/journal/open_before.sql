-- What is open of the runs of before.
CREATE TEMP TABLE ended AS SELECT workspace_id FROM (
  SELECT kind, CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.workspace_id') END AS workspace_id
  FROM events WHERE kind = 'run.finished'
) WHERE workspace_id NOT NULL;
INSERT OR REPLACE INTO open_runs
  SELECT json_extract(body_json, '$.workspace_id'), json_extract(body_json, '$.workspace'),
         json_extract(body_json, '$.flow'), json_extract(body_json, '$.parameters_digest')
  FROM events WHERE kind = 'run.started' AND CASE WHEN json_valid(body_json) THEN
    json_extract(body_json, '$.workspace_id') NOT NULL AND json_extract(body_json, '$.workspace') NOT NULL
    AND json_extract(body_json, '$.flow') NOT NULL AND json_extract(body_json, '$.parameters_digest') NOT NULL
    AND json_extract(body_json, '$.workspace_id') NOT IN (SELECT workspace_id FROM ended) END
  ORDER BY seq;
INSERT OR REPLACE INTO open_writes (workspace_id, response, workspace, run)
  SELECT json_extract(body_json, '$.workspace_id'), json_extract(body_json, '$.response'),
         json_extract(body_json, '$.workspace'), json_extract(body_json, '$.run')
  FROM events WHERE kind = 'effect.started' AND CASE WHEN json_valid(body_json) THEN
    json_extract(body_json, '$.writes') AND json_extract(body_json, '$.flow') NOT NULL
    AND json_extract(body_json, '$.workspace') NOT NULL AND json_extract(body_json, '$.response') NOT NULL
    AND json_extract(body_json, '$.workspace_id') IN (SELECT workspace_id FROM open_runs) END
  ORDER BY seq;
DELETE FROM open_writes WHERE (workspace_id, response) IN (
  SELECT json_extract(body_json, '$.workspace_id'), json_extract(body_json, '$.response')
  FROM events WHERE kind IN ('effect.finished', 'effect.failed', 'effect.settled') AND CASE WHEN json_valid(body_json) THEN
    kind <> 'effect.finished' OR (json_extract(body_json, '$.error') IS NULL
      AND (json_extract(body_json, '$.status') BETWEEN 200 AND 299 OR json_extract(body_json, '$.status') BETWEEN 400 AND 499)) END
);
DROP TABLE ended;
