-- name: exports.hidden
-- Records that an export omits, or lists only as replaced: deleted ones, volatile ones, and observations of deleted
-- entities.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.id > :after AND (
  r.scope <> ''
  OR r.deleted_at IS NOT NULL
  OR r.kind = 'observation' AND EXISTS (
    SELECT 1 FROM observation_details o JOIN records e
      ON e.workspace_id = o.workspace_id AND e.id = o.entity_id AND e.deleted_at IS NOT NULL
    WHERE o.workspace_id = r.workspace_id AND o.id = r.id))
ORDER BY r.id LIMIT :limit

-- name: exports.successions
-- The record that replaced each deleted memory.
SELECT d.id, d.superseded_by FROM memory_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.superseded_by IS NOT NULL AND r.deleted_at IS NOT NULL AND r.scope = ''

-- name: exports.living
-- The living and durable ones among some records.
SELECT id FROM records
WHERE workspace_id = :workspace AND deleted_at IS NULL AND scope = '' AND id IN (SELECT value FROM json_each(:ids))

-- name: exports.brought
-- The vectors that callers supplied, in the order of their ids.
SELECT id, perspective, model, chunk, dim, vector FROM embeddings
WHERE workspace_id = :workspace AND perspective = 'client' AND (id, model, chunk) > (:id, :model, :chunk)
ORDER BY id, model, chunk LIMIT :limit

-- name: imports.known
-- Records with some ids, including deleted ones; `original` is 1 if a living record replaced it. Only turns have text.
SELECT r.id, r.kind, r.session_id, r.deleted_at, CASE WHEN r.kind = 'interaction' THEN r.body ELSE '' END AS body,
  CASE WHEN EXISTS (
    SELECT 1 FROM memory_details d JOIN records living
      ON living.workspace_id = d.workspace_id AND living.id = d.superseded_by AND living.deleted_at IS NULL
    WHERE d.workspace_id = r.workspace_id AND d.id = r.id) THEN 1 ELSE 0 END AS original
FROM records r
WHERE r.workspace_id = :workspace AND r.id IN (SELECT value FROM json_each(:ids))

-- name: imports.named
-- The vault's memories with some keys. The repeated condition on kind lets SQLite use the partial index of names.
SELECT id, name, body, tags FROM records
WHERE workspace_id = :workspace AND kind = 'memory' AND kind IN ('memory', 'entity') AND scope = ''
  AND deleted_at IS NULL AND name IN (SELECT value FROM json_each(:names))

-- name: imports.same
-- The living memories without a key that have one of some fingerprints.
-- CROSS JOIN keeps SQLite from scanning all memories for the few with these fingerprints.
SELECT d.fingerprint, min(r.id) AS id FROM memory_details d CROSS JOIN records r
WHERE d.workspace_id = :workspace AND d.fingerprint IN (SELECT value FROM json_each(:fingerprints))
  AND r.workspace_id = d.workspace_id AND r.id = d.id AND r.kind = 'memory' AND r.name IS NULL AND r.scope = ''
  AND r.deleted_at IS NULL
GROUP BY d.fingerprint

-- name: imports.summarized
-- Which of some sessions have a summary.
SELECT DISTINCT session_id AS id FROM records
WHERE workspace_id = :workspace AND kind = 'summary' AND deleted_at IS NULL
  AND session_id IN (SELECT value FROM json_each(:sessions))

-- name: imports.ordinals
-- Which of some ordinals of some entities are used, and by which observations.
SELECT entity_id, ordinal, id FROM observation_details
WHERE workspace_id = :workspace AND entity_id IN (SELECT value FROM json_each(:entities))
  AND ordinal IN (SELECT CAST(value AS INTEGER) FROM json_each(:ordinals))

-- name: imports.observed
-- The observations of some entities, including deleted ones.
SELECT id, entity_id, ordinal FROM observation_details
WHERE workspace_id = :workspace AND entity_id IN (SELECT value FROM json_each(:entities))

-- name: imports.related
-- The relations from or to some entities, including deleted ones.
SELECT id, from_entity, to_entity, relation_type, created_at, deleted_at FROM relations
WHERE workspace_id = :workspace AND from_entity IN (SELECT value FROM json_each(:entities))
UNION SELECT id, from_entity, to_entity, relation_type, created_at, deleted_at FROM relations
WHERE workspace_id = :workspace AND to_entity IN (SELECT value FROM json_each(:entities))

-- name: imports.reserve
-- Raise the next ordinal of an entity to a value, if it is lower.
UPDATE entity_details SET next_ordinal = :next WHERE workspace_id = :workspace AND id = :id AND next_ordinal < :next

-- name: imports.type
-- Give an entity a type in place of another, such as that of a placeholder.
UPDATE records SET type = :type WHERE workspace_id = :workspace AND id = :id AND type = :placeholder

-- name: imports.touch
-- Set the time at which an entity last changed. It never goes back.
UPDATE records SET updated_at = :at WHERE workspace_id = :workspace AND id = :id AND updated_at < :at

-- name: imports.relations
-- Which of some relations exist, including deleted ones.
SELECT id, deleted_at FROM relations
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: imports.cut
-- Erase some deleted relations.
DELETE FROM relations
WHERE workspace_id = :workspace AND deleted_at IS NOT NULL AND id IN (SELECT value FROM json_each(:ids))

-- name: imports.events
-- What happened at some times, and how often.
SELECT at, operation, subject, count(*) AS number FROM events
WHERE workspace_id = :workspace AND at IN (SELECT value FROM json_each(:times)) GROUP BY at, operation, subject

-- name: imports.empty
-- Whether a workspace has no records and no perspectives.
SELECT 1 AS yes WHERE NOT EXISTS (SELECT 1 FROM records WHERE workspace_id = :workspace)
  AND NOT EXISTS (SELECT 1 FROM perspectives WHERE workspace_id = :workspace)
