-- So it is where its workspace is gone.
UPDATE open_writes SET arguments = coalesce((
  SELECT json_extract(body_json, '$.call_digest') FROM events WHERE kind = 'effect.started'
    AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.workspace') END = open_writes.workspace
    AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.response') END = open_writes.response
    AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.workspace_id') END = open_writes.workspace_id
    AND json_extract(body_json, '$.args_digest') = open_writes.arguments
  ORDER BY seq DESC LIMIT 1
), arguments);
