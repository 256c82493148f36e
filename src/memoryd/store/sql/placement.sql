-- name: placement.mark
-- Mark this workspace: it accepts no more writes. The mark is next to the rows, so that no writer can miss it.
INSERT INTO put_away (workspace_id) VALUES (:workspace) ON CONFLICT DO NOTHING

-- name: placement.unmark
-- Remove the mark: this workspace accepts writes again.
DELETE FROM put_away WHERE workspace_id = :workspace

-- name: placement.marked
-- Whether this workspace is marked.
SELECT 1 AS yes FROM put_away WHERE workspace_id = :workspace
