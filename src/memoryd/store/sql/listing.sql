-- name: parts.listed
-- A part of statements: a record with its details, deleted or not.
SELECT r.id, r.kind, r.name, r.type, r.body, r.tags, r.scope, r.session_id, r.client, r.tool, r.created_at,
  r.updated_at, coalesce(d.importance, .5) AS importance, coalesce(d.access_count, 0) AS access_count, d.accessed_at,
  r.deleted_at, d.superseded_by, coalesce(d.ending, '') AS ending, coalesce(d.reason, '') AS reason
FROM records r LEFT JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id

-- name: parts.faceted
-- A part of statements: what the facets of a list demand of it.
(:client = '' OR r.client IN (SELECT value FROM json_each(:clients))) AND (:tool = '' OR r.tool = :tool)
  AND (:session = '' OR r.session_id = :session) AND r.created_at >= :since AND r.created_at < :until
  AND (:least = 0 OR d.importance >= :least)
  AND (:tag_count = 0 OR :tag_count = (
    SELECT count(DISTINCT t.value) FROM json_each(r.tags) t WHERE t.value IN (SELECT value FROM json_each(:tags))))

-- name: listing.page
-- A page of living records of one kind that pass a filter, the last changed first.
{parts.listed}
WHERE r.workspace_id = :workspace AND r.kind = :kind AND r.deleted_at IS NULL AND r.scope = ''
  AND r.updated_at <= :time AND (r.updated_at < :time OR r.id < :id)
  AND {parts.faceted}
ORDER BY r.updated_at DESC, r.id DESC LIMIT :limit

-- name: listing.deleted
-- Deleted records that pass the same filter, the last deleted first.
{parts.listed}
WHERE r.workspace_id = :workspace AND r.kind IN (SELECT value FROM json_each(:kinds)) AND r.deleted_at IS NOT NULL
  AND r.scope = '' AND r.deleted_at <= :time AND (r.deleted_at < :time OR r.id < :id)
  AND {parts.faceted}
ORDER BY r.deleted_at DESC, r.id DESC LIMIT :limit

-- name: listing.ids
-- The ids of living records that pass the same filter.
SELECT r.id FROM records r LEFT JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.kind IN (SELECT value FROM json_each(:kinds)) AND r.deleted_at IS NULL
  AND r.scope = ''
  AND {parts.faceted}
ORDER BY r.id LIMIT :limit

-- name: listing.records
-- Records by id, deleted or not.
{parts.listed}
WHERE r.workspace_id = :workspace AND r.scope = '' AND r.id IN (SELECT value FROM json_each(:ids))

-- name: listing.origins
-- How many living records each client has written with each tool or command, by kind: all facets except tags.
SELECT kind, client, tool, count(*) AS number FROM records
WHERE workspace_id = :workspace AND deleted_at IS NULL AND scope = '' GROUP BY kind, client, tool

-- name: listing.clients
-- The clients of all records, as they are stored: from an index alone, apart from the deleted ones.
SELECT client FROM records WHERE workspace_id = :workspace AND deleted_at IS NULL GROUP BY client
UNION SELECT client FROM records WHERE workspace_id = :workspace AND deleted_at IS NOT NULL

-- name: listing.replaced
-- The records that a record has replaced, the last first.
SELECT d.id FROM memory_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.superseded_by = :id AND r.deleted_at IS NOT NULL
ORDER BY r.deleted_at DESC, r.id LIMIT :limit

-- name: listing.news
-- What happened after an event, and to which subject.
SELECT seq, operation, subject FROM events WHERE workspace_id = :workspace AND seq > :after ORDER BY seq LIMIT :limit
