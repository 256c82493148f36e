-- name: workspaces.by_name
-- One workspace.
SELECT id, name, description, db_path, status, includes, created_at, updated_at FROM projects WHERE name = :name

-- name: workspaces.by_id
-- One workspace, whatever its present name.
SELECT id, name, description, db_path, status, includes, created_at, updated_at FROM projects WHERE id = :id

-- name: workspaces.all
-- Every workspace.
SELECT id, name, description, db_path, status, includes, created_at, updated_at FROM projects ORDER BY name

-- name: workspaces.add
-- Add a workspace, unless another process has added it.
INSERT INTO projects (id, name, description, db_path, status, created_at, updated_at)
VALUES (:id, :name, :description, :db_path, 'active', :now, :now) ON CONFLICT (name) DO NOTHING

-- name: workspaces.mark
-- Mark a workspace as archived or active, unless it already is.
UPDATE projects SET status = :status, updated_at = :now WHERE id = :id AND status <> :status

-- name: workspaces.place
-- Set the present place of a workspace's file.
UPDATE projects SET db_path = :db_path WHERE id = :id

-- name: workspaces.remove
-- Remove a workspace from the registry: the last step of a deletion.
DELETE FROM projects WHERE id = :id

-- name: workspaces.empty
-- Permanently delete some records of a workspace, with details, relations, vectors and words.
DELETE FROM records
WHERE workspace_id = :workspace AND id IN (SELECT id FROM records WHERE workspace_id = :workspace LIMIT :limit)

-- name: workspaces.silence
-- Permanently delete some events of a workspace.
DELETE FROM events
WHERE workspace_id = :workspace AND seq IN (SELECT seq FROM events WHERE workspace_id = :workspace LIMIT :limit)

-- name: workspaces.forget_acts
-- Permanently delete some acts of a workspace.
DELETE FROM acts
WHERE workspace_id = :workspace AND (id, at) IN (SELECT id, at FROM acts WHERE workspace_id = :workspace LIMIT :limit)

-- name: workspaces.forget_sync
-- Delete what is known of the last sync of a workspace.
DELETE FROM synced WHERE workspace_id = :workspace

-- name: workspaces.tell
-- Set the description and the times of a workspace.
UPDATE projects SET description = :description, created_at = :created_at, updated_at = :updated_at WHERE id = :id

-- name: workspaces.of_keys
-- Every key of the workspaces to which one of some keys leads.
SELECT k.key, p.id, p.name, p.description, p.db_path, p.status, p.includes, p.created_at, p.updated_at
FROM workspace_keys k JOIN projects p ON p.id = k.project
WHERE k.project IN (SELECT project FROM workspace_keys WHERE key IN (SELECT value FROM json_each(:keys)))

-- name: workspaces.keys
-- The keys that lead to a workspace.
SELECT key FROM workspace_keys WHERE project = :id ORDER BY key

-- name: workspaces.add_key
-- Make a key lead to a workspace, instead of any earlier one.
INSERT INTO workspace_keys (key, project) VALUES (:key, :id) ON CONFLICT (key) DO UPDATE SET project = excluded.project

-- name: workspaces.of_project
-- A workspace, if it belongs to a project.
SELECT id, name, description, db_path, status, includes, created_at, updated_at FROM projects
WHERE id = :id AND EXISTS (SELECT 1 FROM workspace_keys WHERE project = :id)

-- name: workspaces.include
-- Set the workspaces that a workspace includes.
UPDATE projects SET includes = :includes WHERE id = :id
