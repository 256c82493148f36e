-- name: purge.subjects
-- What is purged with some ids, and its text: the records and relations themselves, and the observations of entities.
SELECT id, kind, CASE kind WHEN 'entity' THEN name ELSE body END AS text FROM records
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))
UNION
SELECT x.id, 'relation', s.name || ' ' || x.relation_type || ' ' || t.name {parts.relations}
WHERE x.workspace_id = :workspace AND x.id IN (SELECT value FROM json_each(:ids))
UNION
SELECT o.id, 'observation', r.body FROM observation_details o
JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:ids))

-- name: purge.texts
-- All texts of some records and their names, present and earlier; an observation has the name of its entity.
SELECT body AS text FROM records WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))
UNION
SELECT name FROM records
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids)) AND name IS NOT NULL AND kind <> 'observation'
UNION
SELECT body FROM versions WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))
UNION
SELECT v.name FROM versions v JOIN records r ON r.workspace_id = v.workspace_id AND r.id = v.id
WHERE v.workspace_id = :workspace AND v.id IN (SELECT value FROM json_each(:ids)) AND v.name IS NOT NULL
  AND r.kind <> 'observation'

-- name: purge.relations
-- Permanently delete relations; those of an entity are deleted with it.
DELETE FROM relations WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: purge.holders
-- The records in any workspace that contain a piece of text in their name or body: why it is still in the file.
SELECT id FROM (
  SELECT id, coalesce(name, '') || ' ' || body AS text FROM records WHERE workspace_id = :workspace) x
WHERE replace(text, :piece, '') <> text LIMIT :limit
