-- how a project of the user's finds its workspace again, and which workspaces are read together with one
CREATE TABLE workspace_keys (
  key TEXT PRIMARY KEY, project TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX workspace_keys_project ON workspace_keys (project);
ALTER TABLE projects ADD COLUMN includes TEXT NOT NULL DEFAULT '[]';   -- their ids
