-- how a project of the user's finds its workspace again, and which workspaces are read together with one
CREATE TABLE workspace_keys (
  key TEXT COLLATE "C" PRIMARY KEY, project TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE);
CREATE INDEX workspace_keys_project ON workspace_keys (project);
ALTER TABLE projects ADD COLUMN includes TEXT NOT NULL DEFAULT '[]';   -- their ids
