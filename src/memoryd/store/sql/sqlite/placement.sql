-- name: placement.follow
-- The marks of a file that holds the registry too, by what that says.
INSERT INTO put_away (workspace_id) SELECT id FROM projects WHERE status = 'archived'
