CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL, tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT, updated_at_iso TEXT, deleted_at REAL DEFAULT NULL);
CREATE TABLE memory_graph (source_hash TEXT NOT NULL, target_hash TEXT NOT NULL, similarity REAL NOT NULL, connection_types TEXT NOT NULL, metadata TEXT, created_at REAL NOT NULL, PRIMARY KEY (source_hash, target_hash));
INSERT INTO memories VALUES (1, '9f', 'Staging listens on port 5433.', 'infra,port', 'observation', '{"quality_score": 0.8, "conversation_id": "c9"}', 1771063462.1, 1771063472.1, '2026-02-14T10:04:22Z', '2026-02-14T10:04:32Z', NULL);
INSERT INTO memories VALUES (2, 'a0', 'Bob likes cycling to work.', 'untagged', 'note', NULL, 1771063472.5, 1771063472.5, '', '', NULL);
INSERT INTO memories VALUES (3, 'b1', 'Remove this one.', '', 'note', '{}', 1771063482.5, 1771063482.5, '', '', 1771063492.5);
INSERT INTO memory_graph VALUES ('9f', 'a0', 0.7, '["semantic"]', NULL, 1771063490.0);
