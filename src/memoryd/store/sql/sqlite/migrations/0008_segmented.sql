-- words of scripts without blanks are indexed as overlapping pairs of letters, by the function `segmented` that memoryd
-- gives each of its connections; of what was there, only the records that have such letters are indexed again

CREATE TEMP TABLE indexed_again AS SELECT rid FROM records
  WHERE deleted_at IS NULL
    AND segmented(coalesce(name, '') || type || body || tags) <> coalesce(name, '') || type || body || tags;
INSERT INTO records_fts(records_fts, rowid, scope_tokens, title, type, body, tags)
  SELECT 'delete', * FROM live_text WHERE rid IN (SELECT rid FROM indexed_again);

DROP VIEW live_text;
CREATE VIEW live_text AS
  SELECT rid, 'w' || replace(workspace_id, '-', '') || ' k' || kind AS scope_tokens,
    segmented(coalesce(name, '')) AS title, segmented(type) AS type, segmented(body) AS body, segmented(tags) AS tags
  FROM records WHERE deleted_at IS NULL;

INSERT INTO records_fts(rowid, scope_tokens, title, type, body, tags)
  SELECT * FROM live_text WHERE rid IN (SELECT rid FROM indexed_again);
DROP TABLE indexed_again;
