-- what only one process should do at a time
CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at TEXT NOT NULL) WITHOUT ROWID;
