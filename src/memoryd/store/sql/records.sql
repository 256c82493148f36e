-- name: records.add
-- Add a record.
INSERT INTO records (
  workspace_id, id, kind, name, type, body, tags, scope, session_id, client, tool, created_at, updated_at)
VALUES (:workspace, :id, :kind, :name, :type, :body, :tags, :scope, :session_id, :client, :tool, :now, :now)

-- name: records.change
-- Set the text and tags of a living record, and who wrote them.
UPDATE records SET body = :body, tags = :tags, client = :client, tool = :tool, updated_at = :now
WHERE workspace_id = :workspace AND id = :id AND deleted_at IS NULL

-- name: records.retag
-- Set the tags of a living record.
UPDATE records SET tags = :tags, updated_at = :now
WHERE workspace_id = :workspace AND id = :id AND deleted_at IS NULL

-- name: records.delete
-- Soft-delete records: out of every index at once, purged later.
UPDATE records SET deleted_at = :now
WHERE workspace_id = :workspace AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))

-- name: records.erase
-- Permanently delete records, without retention.
DELETE FROM records WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: parts.expired
-- A part of statements: records deleted before a time, but no originals with a successor that lives or was replaced.
FROM records WHERE workspace_id = :workspace AND deleted_at IS NOT NULL AND deleted_at <= :before
  AND NOT EXISTS (
    SELECT 1 FROM memory_details d
    JOIN records after ON after.workspace_id = d.workspace_id AND after.id = d.superseded_by
    LEFT JOIN memory_details a ON a.workspace_id = after.workspace_id AND a.id = after.id
    WHERE d.workspace_id = records.workspace_id AND d.id = records.id
      AND (after.deleted_at IS NULL OR a.superseded_by IS NOT NULL))

-- name: records.purgeable
-- Whether there is anything to purge; checked first, so that an idle server does not write.
SELECT 1 AS yes {parts.expired} LIMIT 1

-- name: records.purge
-- Permanently delete these, with details and vectors.
DELETE {parts.expired}

-- name: records.fetch
-- Living records of any kind, by id.
SELECT r.id, r.kind, r.name, r.type, r.body, r.tags, r.scope, r.session_id, r.client, r.tool, r.created_at,
  r.updated_at, coalesce(d.importance, .5) AS importance, coalesce(d.access_count, 0) AS access_count, d.accessed_at,
  r.related
FROM records r LEFT JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
  AND r.id IN (SELECT value FROM json_each(:ids))

-- name: records.any
-- Whether anything was ever stored in a workspace.
SELECT 1 AS yes FROM records WHERE workspace_id = :workspace LIMIT 1

-- name: records.kinds
-- The number of records of each kind, from an index alone.
SELECT kind, count(*) AS number FROM records
WHERE workspace_id = :workspace AND deleted_at IS NULL AND scope IN ('', :session)
GROUP BY kind ORDER BY count(*) DESC, kind

-- name: records.times
-- When the first record was created, and when the last one changed: the ends of two indexes.
SELECT (SELECT r.created_at FROM records r
    WHERE r.workspace_id = :workspace AND r.created_at > '' AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
    ORDER BY r.created_at LIMIT 1) AS oldest,
  (SELECT max((SELECT r.updated_at FROM records r WHERE r.workspace_id = :workspace AND r.kind = k.value
      AND r.updated_at > '' AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
      ORDER BY r.updated_at DESC LIMIT 1))
    FROM json_each(:kinds) k) AS newest

-- name: records.deleted
-- The number of records that are deleted and not yet purged.
SELECT count(*) AS number FROM records WHERE workspace_id = :workspace AND deleted_at IS NOT NULL

-- name: records.spanned
-- The newest records of a span of time that pass a filter.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.created_at >= :after AND r.created_at < :before
  AND (r.scope = '' OR r.scope = :session) AND (:kinds = '[]' OR r.kind IN (SELECT value FROM json_each(:kinds)))
  AND (:tag_count = 0 OR :tag_count = (
    SELECT count(DISTINCT t.value) FROM json_each(r.tags) t WHERE t.value IN (SELECT value FROM json_each(:tags))))
ORDER BY r.created_at DESC, r.id DESC LIMIT :limit

-- name: records.neighbours
-- The two records before and after each of :ids in its session, in the order of writing.
SELECT r.id,
  (SELECT p.id FROM records p
    WHERE p.workspace_id = r.workspace_id AND p.session_id = r.session_id AND p.deleted_at IS NULL
      AND (p.created_at, p.id) < (r.created_at, r.id) AND (p.scope = '' OR p.scope = :session)
    ORDER BY p.created_at DESC, p.id DESC LIMIT 1) AS before_id,
  (SELECT p.id FROM records p
    WHERE p.workspace_id = r.workspace_id AND p.session_id = r.session_id AND p.deleted_at IS NULL
      AND (p.created_at, p.id) < (r.created_at, r.id) AND (p.scope = '' OR p.scope = :session)
    ORDER BY p.created_at DESC, p.id DESC LIMIT 1 OFFSET 1) AS before_that_id,
  (SELECT n.id FROM records n
    WHERE n.workspace_id = r.workspace_id AND n.session_id = r.session_id AND n.deleted_at IS NULL
      AND (n.created_at, n.id) > (r.created_at, r.id) AND (n.scope = '' OR n.scope = :session)
    ORDER BY n.created_at, n.id LIMIT 1) AS after_id,
  (SELECT n.id FROM records n
    WHERE n.workspace_id = r.workspace_id AND n.session_id = r.session_id AND n.deleted_at IS NULL
      AND (n.created_at, n.id) > (r.created_at, r.id) AND (n.scope = '' OR n.scope = :session)
    ORDER BY n.created_at, n.id LIMIT 1 OFFSET 1) AS after_that_id
FROM records r
WHERE r.workspace_id = :workspace AND r.session_id IS NOT NULL AND r.id IN (SELECT value FROM json_each(:ids))
