-- name: placement.mark
-- This workspace takes no more writes. The mark lies beside the rows, so that no writer can miss it.
INSERT INTO put_away (workspace_id) VALUES (:workspace) ON CONFLICT DO NOTHING

-- name: placement.unmark
-- It takes writes again.
DELETE FROM put_away WHERE workspace_id = :workspace

-- name: placement.marked
-- Whether it takes none.
SELECT 1 AS yes FROM put_away WHERE workspace_id = :workspace
