-- name: workspaces.by_name
-- One workspace.
SELECT id, name, description, db_path, status, created_at, updated_at FROM projects WHERE name = :name

-- name: workspaces.all
-- Every workspace.
SELECT id, name, description, db_path, status, created_at, updated_at FROM projects ORDER BY name

-- name: workspaces.add
-- A new workspace; nothing where another process was faster.
INSERT INTO projects (id, name, description, db_path, status, created_at, updated_at)
VALUES (:id, :name, :description, :db_path, 'active', :now, :now) ON CONFLICT (name) DO NOTHING
