-- name: records.add
-- A new record.
INSERT INTO records (workspace_id, id, kind, name, type, body, tags, scope, session_id, created_at, updated_at)
VALUES (:workspace, :id, :kind, :name, :type, :body, :tags, :scope, :session_id, :now, :now)

-- name: records.change
-- Another text and other tags for a living record.
UPDATE records SET body = :body, tags = :tags, updated_at = :now
WHERE workspace_id = :workspace AND id = :id AND deleted_at IS NULL

-- name: records.retag
-- Other tags for a living record.
UPDATE records SET tags = :tags, updated_at = :now
WHERE workspace_id = :workspace AND id = :id AND deleted_at IS NULL

-- name: records.delete
-- Soft: out of every index at once, purged later.
UPDATE records SET deleted_at = :now
WHERE workspace_id = :workspace AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))

-- name: records.purge
-- For good, with details and vectors; never an original that a living summary points to.
DELETE FROM records WHERE workspace_id = :workspace AND deleted_at IS NOT NULL AND deleted_at <= :before
  AND NOT EXISTS (
    SELECT 1 FROM memory_details d JOIN records living
      ON living.workspace_id = d.workspace_id AND living.id = d.superseded_by AND living.deleted_at IS NULL
    WHERE d.workspace_id = records.workspace_id AND d.id = records.id)

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

-- name: events.add
-- What happened to what; events outlive their subject.
INSERT INTO events (workspace_id, at, operation, subject) VALUES (:workspace, :now, :operation, :subject)

-- name: records.purgeable
-- Whether there is anything to purge: asked first, so that an idle server does not write.
SELECT 1 AS yes FROM records r
WHERE r.deleted_at IS NOT NULL AND r.deleted_at <= :before AND r.workspace_id = :workspace
  AND NOT EXISTS (
    SELECT 1 FROM memory_details d JOIN records living
      ON living.workspace_id = d.workspace_id AND living.id = d.superseded_by AND living.deleted_at IS NULL
    WHERE d.workspace_id = r.workspace_id AND d.id = r.id)
LIMIT 1
