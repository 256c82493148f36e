-- name: listing.tagged
-- Living, durable records that have ALL tags, of which :tag is one, using the table of tags.
SELECT r.id FROM record_tags t JOIN records r ON r.rid = t.rid
WHERE t.workspace_id = :workspace AND t.tag = :tag AND r.scope = '' AND NOT EXISTS (
  SELECT 1 FROM json_each(:tags) wanted WHERE NOT EXISTS (
    SELECT 1 FROM record_tags o WHERE o.workspace_id = :workspace AND o.tag = wanted.value AND o.rid = t.rid))
LIMIT :limit

-- name: records.tags
-- The tags in use, the most frequent first, without those of other sessions' volatile records.
SELECT t.tag, count(*) - coalesce(max(h.number), 0) AS number FROM record_tags t LEFT JOIN (
  SELECT o.tag, count(*) AS number FROM records v JOIN record_tags o ON o.rid = v.rid
  WHERE v.workspace_id = :workspace AND v.scope <> '' AND v.scope <> :session AND v.deleted_at IS NULL
  GROUP BY o.tag) h ON h.tag = t.tag
WHERE t.workspace_id = :workspace
GROUP BY t.tag HAVING count(*) > coalesce(max(h.number), 0) ORDER BY count(*) - coalesce(max(h.number), 0) DESC, t.tag
LIMIT :limit
