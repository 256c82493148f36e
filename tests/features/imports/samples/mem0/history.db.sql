CREATE TABLE history (
                        id           TEXT PRIMARY KEY,
                        memory_id    TEXT,
                        old_memory   TEXT,
                        new_memory   TEXT,
                        event        TEXT,
                        created_at   DATETIME,
                        updated_at   DATETIME,
                        is_deleted   INTEGER,
                        actor_id     TEXT,
                        role         TEXT
                    );
INSERT INTO "history" VALUES ('98ffdcbb-0a40-4702-ab38-0844ce587e81', 'm1', NULL, 'Ann prefers coffee.', 'ADD', '2026-03-01T10:30:00.123456-07:00', '2026-03-01T10:30:00.123456-07:00', 0, 'ann', 'user');
INSERT INTO "history" VALUES ('666a4285-061a-4b87-920d-8d233b895af3', 'm1', 'Ann prefers coffee.', 'Ann prefers tea.', 'UPDATE', '2026-03-01T10:30:00.123456-07:00', '2026-03-02T10:30:00.123456-07:00', 0, NULL, NULL);
INSERT INTO "history" VALUES ('b73a6f1d-6b67-40bf-854d-0a5037851b90', 'm2', NULL, 'Bob lives in Porto.', 'ADD', '2026-03-03T10:30:00.123456-07:00', NULL, 0, NULL, NULL);
INSERT INTO "history" VALUES ('f805d2e8-4c81-45ff-bde5-f184c424ebb1', 'm3', NULL, 'Forget this.', 'ADD', '2026-03-03T10:30:00.123456-07:00', NULL, 0, NULL, NULL);
INSERT INTO "history" VALUES ('88277b88-4111-4343-969b-6fd7484b0e4b', 'm3', 'Forget this.', NULL, 'DELETE', '2026-03-03T10:30:00.123456-07:00', '2026-03-04T10:30:00.123456-07:00', 1, NULL, NULL);
CREATE TABLE messages (
                        id TEXT PRIMARY KEY,
                        session_scope TEXT,
                        role TEXT,
                        content TEXT,
                        name TEXT,
                        created_at DATETIME
                    );
