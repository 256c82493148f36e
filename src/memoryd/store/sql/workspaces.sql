-- name: workspaces.by_name
-- One workspace.
SELECT id, name, description, db_path, status, includes, created_at, updated_at FROM projects WHERE name = :name

-- name: workspaces.by_id
-- One workspace, whatever it is called by now.
SELECT id, name, description, db_path, status, includes, created_at, updated_at FROM projects WHERE id = :id

-- name: workspaces.all
-- Every workspace.
SELECT id, name, description, db_path, status, includes, created_at, updated_at FROM projects ORDER BY name

-- name: workspaces.add
-- A new workspace; nothing where another process was faster.
INSERT INTO projects (id, name, description, db_path, status, created_at, updated_at)
VALUES (:id, :name, :description, :db_path, 'active', :now, :now) ON CONFLICT (name) DO NOTHING

-- name: workspaces.mark
-- Archived or active; nothing where it is so already.
UPDATE projects SET status = :status, updated_at = :now WHERE id = :id AND status <> :status

-- name: workspaces.place
-- Where its file lies now.
UPDATE projects SET db_path = :db_path WHERE id = :id

-- name: workspaces.remove
-- Out of the registry: the last step of a deletion.
DELETE FROM projects WHERE id = :id

-- name: workspaces.empty
-- A part of the records of a workspace for good, with details, relations, vectors and words.
DELETE FROM records
WHERE workspace_id = :workspace AND id IN (SELECT id FROM records WHERE workspace_id = :workspace LIMIT :limit)

-- name: workspaces.silence
-- A part of what happened in a workspace, for good.
DELETE FROM events
WHERE workspace_id = :workspace AND seq IN (SELECT seq FROM events WHERE workspace_id = :workspace LIMIT :limit)

-- name: workspaces.forget_acts
-- A part of who did what in a workspace, for good.
DELETE FROM acts
WHERE workspace_id = :workspace AND (id, at) IN (SELECT id, at FROM acts WHERE workspace_id = :workspace LIMIT :limit)

-- name: workspaces.tell
-- Set the description and the times of a workspace.
UPDATE projects SET description = :description, created_at = :created_at, updated_at = :updated_at WHERE id = :id

-- name: workspaces.of_keys
-- Every key of the workspaces that have one of some keys.
SELECT k.key, p.id, p.name, p.description, p.db_path, p.status, p.includes, p.created_at, p.updated_at
FROM workspace_keys k JOIN projects p ON p.id = k.project
WHERE k.project IN (SELECT project FROM workspace_keys WHERE key IN (SELECT value FROM json_each(:keys)))

-- name: workspaces.add_key
-- What finds a workspace from now on, whichever it found before.
INSERT INTO workspace_keys (key, project) VALUES (:key, :id) ON CONFLICT (key) DO UPDATE SET project = excluded.project

-- name: workspaces.include
-- Which workspaces are read together with one.
UPDATE projects SET includes = :includes WHERE id = :id
