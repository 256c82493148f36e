-- name: memories.add
-- Add the details of a memory.
INSERT INTO memory_details (workspace_id, id, fingerprint, importance, consolidated)
VALUES (:workspace, :id, :fingerprint, :importance, :consolidated)

-- name: memories.change
-- Note that the same text was stored again: keep the greater importance, and let consolidation compare it again.
UPDATE memory_details SET importance = CASE WHEN importance > :importance THEN importance ELSE :importance END,
  consolidated = CASE WHEN consolidated = 2 THEN 2 ELSE 0 END
WHERE workspace_id = :workspace AND id = :id

-- name: memories.replaceable
-- Those of some memories without a key that are living, or were already replaced by a given memory.
SELECT r.id, r.tags, d.importance, CASE WHEN r.deleted_at IS NULL THEN 1 ELSE 0 END AS living
FROM records r JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.id IN (SELECT value FROM json_each(:ids)) AND r.kind = 'memory' AND r.name IS NULL
  AND r.scope = '' AND (r.deleted_at IS NULL OR d.superseded_by = :by)

-- name: memories.supersede
-- Record which record replaces some that are about to be deleted.
UPDATE memory_details SET superseded_by = :by, ending = :ending, reason = :reason
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: memories.same
-- A living memory without a key in the same scope, with the same fingerprint.
-- CROSS JOIN keeps SQLite from scanning all memories for the few with this fingerprint.
SELECT r.id, r.body, r.tags FROM memory_details d CROSS JOIN records r
WHERE d.workspace_id = :workspace AND d.fingerprint = :fingerprint AND r.workspace_id = d.workspace_id AND r.id = d.id
  AND r.kind = 'memory' AND r.name IS NULL AND r.scope = :scope AND r.deleted_at IS NULL
ORDER BY r.created_at LIMIT 1

-- name: memories.recent
-- The newest memories, or summaries of sessions.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.kind = :kind AND (r.scope = '' OR r.scope = :session)
ORDER BY r.updated_at DESC, r.id LIMIT :limit

-- name: memories.important
-- The most important memories; of equally important ones the newest first.
SELECT r.id FROM memory_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND r.deleted_at IS NULL AND r.kind = 'memory'
  AND (r.scope = '' OR r.scope = :session) AND d.importance >= :least
ORDER BY d.importance DESC, r.updated_at DESC, r.id LIMIT :limit

-- name: memories.forgettable
-- The records that match all given criteria; memories with a key, turns and summaries only by id.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
  AND (r.kind = 'memory' OR :any_id = 0 AND r.kind IN ('interaction', 'summary'))
  AND (:any_id = 1 OR r.id IN (SELECT value FROM json_each(:ids))) AND (:any_id = 0 OR r.name IS NULL)
  AND (:before = '' OR r.created_at < :before)
  AND :tag_count = (
    SELECT count(DISTINCT t.value) FROM json_each(r.tags) t WHERE t.value IN (SELECT value FROM json_each(:tags)))
  AND (:among = '' OR r.id IN (SELECT value FROM json_each(nullif(:among, ''))))
ORDER BY r.created_at, r.id LIMIT :limit

-- name: memories.touch
-- Add recalls of a memory.
UPDATE memory_details SET access_count = access_count + :times, accessed_at = :at
WHERE workspace_id = :workspace AND id = :id
