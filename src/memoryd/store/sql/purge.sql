-- name: purge.subjects
-- What goes with some ids: the records and relations themselves, and the observations of entities.
SELECT id, kind FROM records WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))
UNION
SELECT id, 'relation' FROM relations WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))
UNION
SELECT id, 'observation' FROM observation_details
WHERE workspace_id = :workspace AND entity_id IN (SELECT value FROM json_each(:ids))

-- name: purge.texts
-- All texts of some records, present and earlier.
SELECT body AS text FROM records WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))
UNION
SELECT body FROM versions WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: purge.relations
-- Relations at once and for good; those of an entity go with it.
DELETE FROM relations WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: purge.holders
-- The records that hold a piece of text, whoever's: why it is still in the file.
SELECT id FROM records WHERE workspace_id = :workspace AND replace(body, :piece, '') <> body LIMIT :limit
