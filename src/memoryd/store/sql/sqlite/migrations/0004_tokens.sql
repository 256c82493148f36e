-- who may come in over HTTP; `level` or the names in `tools`, a workspace's id or ''
CREATE TABLE tokens (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash TEXT NOT NULL, level TEXT NOT NULL, tools TEXT NOT NULL,
  workspace TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT NOT NULL) WITHOUT ROWID;
