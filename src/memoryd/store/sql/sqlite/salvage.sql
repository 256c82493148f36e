-- name: salvage.text
-- The text of a record.
SELECT body FROM records WHERE workspace_id = :workspace AND id = :id
