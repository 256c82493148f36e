-- name: scratch.wordless
-- Stop indexing words and tags.
DROP TRIGGER records_ai

-- name: scratch.unrelated
-- Stop naming the relations of entities in their texts.
DROP TRIGGER relations_ai

-- name: scratch.known
-- The kinds of some records, and which of them are deleted.
SELECT id, kind, deleted_at FROM records
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: scratch.unexplained
-- A deleted memory that nothing has replaced, if any.
SELECT r.id FROM records r JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.deleted_at IS NOT NULL AND d.superseded_by IS NULL LIMIT 1

-- name: scratch.renumber
-- Raise the next ordinals to above all that exist, so that none is used twice.
UPDATE entity_details SET next_ordinal = (
  SELECT max(o.ordinal) + 1 FROM observation_details o
  WHERE o.workspace_id = entity_details.workspace_id AND o.entity_id = entity_details.id)
WHERE workspace_id = :workspace AND EXISTS (
  SELECT 1 FROM observation_details o
  WHERE o.workspace_id = entity_details.workspace_id AND o.entity_id = entity_details.id
    AND o.ordinal >= entity_details.next_ordinal)
