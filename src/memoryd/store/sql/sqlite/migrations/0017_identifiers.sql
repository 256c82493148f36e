-- the words within an identifier are indexed, too ("user profile" finds getUserProfile), by the function `indexed` that
-- memoryd gives each of its connections; of what was there, only the records with such identifiers are indexed again

CREATE TEMP TABLE indexed_again AS SELECT rid FROM records
  WHERE deleted_at IS NULL AND (indexed(body) <> segmented(body) OR indexed(coalesce(name, '')) <> segmented(coalesce(name, ''))
    OR indexed(type || ' ' || tags || ' ' || related) <> segmented(type || ' ' || tags || ' ' || related));
INSERT INTO records_fts(records_fts, rowid, scope_tokens, title, type, body, tags)
  SELECT 'delete', * FROM live_text WHERE rid IN (SELECT rid FROM indexed_again);

DROP VIEW live_text;
CREATE VIEW live_text AS
  SELECT rid, 'w' || replace(workspace_id, '-', '') || ' k' || kind AS scope_tokens,
    indexed(coalesce(name, '')) AS title, indexed(type) AS type, indexed(body || ' ' || related) AS body,
    indexed(tags) AS tags
  FROM records WHERE deleted_at IS NULL;

INSERT INTO records_fts(rowid, scope_tokens, title, type, body, tags)
  SELECT * FROM live_text WHERE rid IN (SELECT rid FROM indexed_again);
DROP TABLE indexed_again;
