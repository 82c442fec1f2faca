-- What is open of the calls by hand of before, and what the writes are of that were known as open. The table is made anew, since
-- the step before may have made it with these columns or without.
INSERT OR REPLACE INTO open_writes (workspace_id, response, workspace, run)
  SELECT workspace_id, response, workspace, run FROM open_writes_before;
DROP TABLE open_writes_before;
INSERT OR IGNORE INTO open_writes (workspace_id, response, workspace, run)
  SELECT json_extract(body_json, '$.workspace_id'), json_extract(body_json, '$.response'),
         json_extract(body_json, '$.workspace'), ''
  FROM events WHERE kind = 'effect.started' AND CASE WHEN json_valid(body_json) THEN
    json_extract(body_json, '$.writes') AND json_type(body_json, '$.flow') IS NOT 'text'
    AND json_type(body_json, '$.workspace_id') = 'text' AND json_type(body_json, '$.workspace') = 'text'
    AND json_type(body_json, '$.response') = 'integer'
    AND (json_extract(body_json, '$.workspace_id'), json_extract(body_json, '$.response')) NOT IN (
      SELECT json_extract(body_json, '$.workspace_id'), json_extract(body_json, '$.response')
      FROM events WHERE kind IN ('effect.finished', 'effect.failed', 'effect.settled') AND CASE WHEN json_valid(body_json) THEN
        json_extract(body_json, '$.workspace_id') NOT NULL AND json_extract(body_json, '$.response') NOT NULL
        AND (kind <> 'effect.finished' OR json_extract(body_json, '$.error') IS NULL) END
    ) END;
UPDATE open_writes SET (adapter, tool, arguments) = (
  SELECT json_extract(body_json, '$.adapter'), json_extract(body_json, '$.tool'), json_extract(body_json, '$.args_digest')
  FROM events WHERE kind = 'effect.started'
    AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.workspace') END = open_writes.workspace
    AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.response') END = open_writes.response
    AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.workspace_id') END = open_writes.workspace_id
  ORDER BY seq DESC LIMIT 1
);
