-- name: vault.named
-- The living memory with a key in a scope.
SELECT r.id, r.body, r.tags FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'memory' AND r.scope = :scope AND r.name = :key AND r.deleted_at IS NULL

-- name: vault.chosen
-- The memories with a key on a shelf (`session`, `vault`, `all`) that match all criteria; '' is any key.
SELECT r.id, r.scope FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.kind = 'memory' AND r.name IS NOT NULL
  AND (r.scope = '' OR r.scope = :session) AND (:shelf = 'all' OR (:shelf = 'session') = (r.scope <> ''))
  AND (:key = '' OR r.name = :key) AND (:before = '' OR r.created_at < :before)
  AND :tag_count = (
    SELECT count(DISTINCT t.value) FROM json_each(r.tags) t WHERE t.value IN (SELECT value FROM json_each(:tags)))
ORDER BY r.updated_at DESC, r.id LIMIT :limit

-- name: vault.number
-- How many memories with a key are on a shelf; the index of names suffices, so no record is read.
SELECT count(*) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.kind IN ('memory', 'entity') AND r.kind = 'memory'
  AND r.name IS NOT NULL AND (r.scope = '' OR r.scope = :session)
  AND (:shelf = 'all' OR (:shelf = 'session') = (r.scope <> ''))

-- name: vault.tagged
-- How many memories with a key are on a shelf and have ALL tags.
SELECT count(*) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.kind = 'memory' AND r.name IS NOT NULL
  AND (r.scope = '' OR r.scope = :session) AND (:shelf = 'all' OR (:shelf = 'session') = (r.scope <> ''))
  AND :tag_count = (
    SELECT count(DISTINCT t.value) FROM json_each(r.tags) t WHERE t.value IN (SELECT value FROM json_each(:tags)))

-- name: vault.page
-- The memories with a key in a scope, ordered by key.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'memory' AND r.scope = :scope AND r.name IS NOT NULL
  AND r.deleted_at IS NULL
ORDER BY r.name LIMIT :limit OFFSET :offset

-- name: vault.keys
-- The keys of the vault from :begins up to, but not including, :end that follow a given key.
SELECT r.name AS key FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'memory' AND r.scope = '' AND r.name >= :begins AND r.name < :end
  AND r.name > :after
  AND r.deleted_at IS NULL
ORDER BY r.name LIMIT :limit

-- name: vault.under
-- The memories of the vault with keys from :begins up to, but not including, :end, last changed first.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'memory' AND r.scope = '' AND r.name >= :begins AND r.name < :end
  AND r.deleted_at IS NULL
ORDER BY r.updated_at DESC, r.name

-- name: vault.events
-- What happened to memories with a key after an event; the key is null if the memory was purged.
SELECT e.seq, e.operation, r.name AS key, r.scope FROM events e
LEFT JOIN records r ON r.workspace_id = e.workspace_id AND r.id = e.subject
WHERE e.workspace_id = :workspace AND e.seq > :after
  AND e.operation IN ('create_memory', 'update_memory', 'delete_memory', 'restore_memory') AND (r.id IS NULL OR r.name IS NOT NULL)
ORDER BY e.seq LIMIT :limit

-- name: vault.volatile
-- The volatile memories of a session, and when each was written.
SELECT r.id, r.updated_at FROM records r WHERE r.workspace_id = :workspace AND r.scope = :session

-- name: vault.rewritten
-- When some records were last written.
SELECT r.id, r.updated_at FROM records r
WHERE r.workspace_id = :workspace AND r.id IN (SELECT value FROM json_each(:ids))
