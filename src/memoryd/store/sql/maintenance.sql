-- name: maintenance.fresh
-- A page of the durable memories without a key that consolidation has not compared yet, the oldest first.
SELECT r.id, r.created_at FROM memory_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.consolidated = 0 AND r.kind = 'memory' AND r.name IS NULL AND r.scope = ''
  AND r.deleted_at IS NULL AND (r.created_at, r.id) > (:time, :id)
ORDER BY r.created_at, r.id LIMIT :limit

-- name: maintenance.unjudged
-- A page of the memories that were compared only by their words, and now have a vector of a model.
SELECT r.id, r.created_at FROM memory_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.consolidated = 1 AND r.kind = 'memory' AND r.name IS NULL AND r.scope = ''
  AND r.deleted_at IS NULL AND (r.created_at, r.id) > (:time, :id)
  AND EXISTS (SELECT 1 FROM embeddings e WHERE e.workspace_id = d.workspace_id AND e.id = d.id
    AND e.perspective = 'general' AND e.model IN (:model, :other))
ORDER BY r.created_at, r.id LIMIT :limit

-- name: maintenance.twins
-- Living memories that were compared, and have one of some gists.
SELECT r.id FROM memory_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.consolidated IN (1, 3) AND d.gist <> '' AND d.gist IN (SELECT value FROM json_each(:gists))
  AND r.kind = 'memory' AND r.name IS NULL AND r.scope = '' AND r.deleted_at IS NULL

-- name: maintenance.comparable
-- The memories among some records that have no key, and were not restored by a user.
SELECT r.id FROM memory_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.id IN (SELECT value FROM json_each(:ids)) AND d.consolidated <> 2
  AND r.name IS NULL AND r.scope = '' AND r.deleted_at IS NULL

-- name: maintenance.settle
-- Mark a memory as consolidated: only by its words (1), or by a language model (3).
UPDATE memory_details SET consolidated = :state, gist = :gist WHERE workspace_id = :workspace AND id = :id

-- name: maintenance.absorb
-- Give a memory that replaces another one the greater importance, and all recalls.
UPDATE memory_details SET importance = CASE WHEN importance > :importance THEN importance ELSE :importance END,
  access_count = access_count + :times
WHERE workspace_id = :workspace AND id = :id

-- name: maintenance.retag
-- Give a memory that replaces another one the tags of both, and the later time.
UPDATE records SET tags = :tags, updated_at = CASE WHEN updated_at < :at THEN :at ELSE updated_at END
WHERE workspace_id = :workspace AND id = :id AND deleted_at IS NULL

-- name: maintenance.aging
-- Memories that may have decayed, because their text is older than a time.
SELECT r.id FROM records r JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.kind = 'memory' AND r.name IS NULL AND r.scope = '' AND r.deleted_at IS NULL
  AND r.updated_at < :before AND d.consolidated <> 2
ORDER BY r.updated_at, r.id LIMIT :limit

-- name: maintenance.look_again
-- Let maintenance change exempt memories again: they count as new.
UPDATE memory_details SET consolidated = 0
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids)) AND consolidated = 2

-- name: maintenance.leave
-- Exempt memories that a user wants unchanged from maintenance permanently.
UPDATE memory_details SET consolidated = 2 WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: maintenance.recent
-- The durable memories without a key that have few characters, the last changed first.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'memory' AND r.name IS NULL AND r.scope = '' AND r.deleted_at IS NULL
  AND length(r.body) <= :longest
ORDER BY r.updated_at DESC, r.id DESC LIMIT :limit
