-- name: ids.beside
-- The ids before and after each of :ids in sort order, of records and relations; deleted ones count, since they can be
-- restored.
SELECT j.value AS id,
  (SELECT max(id) FROM (
    SELECT max(r.id) AS id FROM records r WHERE r.workspace_id = :workspace AND r.id < j.value
    UNION ALL SELECT max(e.id) FROM relations e WHERE e.workspace_id = :workspace AND e.id < j.value) b) AS before_id,
  (SELECT min(id) FROM (
    SELECT min(r.id) AS id FROM records r WHERE r.workspace_id = :workspace AND r.id > j.value
    UNION ALL SELECT min(e.id) FROM relations e WHERE e.workspace_id = :workspace AND e.id > j.value) a) AS after_id
FROM json_each(:ids) j

-- name: ids.living
-- The ids of living records from :first up to :last.
SELECT id FROM records
WHERE workspace_id = :workspace AND id >= :first AND id < :last AND deleted_at IS NULL
  AND (scope = '' OR scope = :session)
ORDER BY id LIMIT :limit

-- name: ids.ever
-- The ids of records and relations, deleted or not, from :first up to :last.
SELECT id FROM records
WHERE workspace_id = :workspace AND id >= :first AND id < :last AND (scope = '' OR scope = :session)
UNION ALL
SELECT id FROM relations WHERE workspace_id = :workspace AND id >= :first AND id < :last
ORDER BY id LIMIT :limit
