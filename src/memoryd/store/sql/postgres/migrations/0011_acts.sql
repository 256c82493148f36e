-- who did what to a record or a relation, or wants two nodes to stay as they are: no key to them, since it outlives them

CREATE TABLE acts (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, at TEXT COLLATE "C" NOT NULL,
  operation TEXT COLLATE "C" NOT NULL,         -- as in events: `delete_memory`, `restore_relation`, `purge_entity`
  other TEXT COLLATE "C" NOT NULL,             -- the node that one became one with, or stays apart from; or ''
  client TEXT NOT NULL, tool TEXT NOT NULL,
  PRIMARY KEY (workspace_id, id, at));
CREATE INDEX acts_operation ON acts (workspace_id, operation, at);
ALTER TABLE acts ALTER workspace_id SET STATISTICS 0;

INSERT INTO acts (workspace_id, id, at, operation, other, client, tool)
SELECT e.workspace_id, e.id, e.at, 'delete_' || r.kind, e.successor, e.client, e.tool
FROM endings e JOIN records r ON r.workspace_id = e.workspace_id AND r.id = e.id;
INSERT INTO acts (workspace_id, id, at, operation, other, client, tool)
SELECT workspace_id, subject, at, operation, '', '', '' FROM events
WHERE operation LIKE 'revert~_%' ESCAPE '~' AND subject IS NOT NULL
ON CONFLICT (workspace_id, id, at) DO NOTHING;
DROP TABLE endings;
