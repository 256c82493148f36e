-- name: placement.follow
-- Set the marks in a file that also has the registry, according to the registry.
INSERT INTO put_away (workspace_id) SELECT id FROM projects WHERE status = 'archived'
