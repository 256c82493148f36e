CREATE TABLE entities (
                id TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                type TEXT DEFAULT 'unknown',
                properties TEXT DEFAULT '{}',
                created_at TEXT DEFAULT CURRENT_TIMESTAMP
            );
INSERT INTO "entities" VALUES ('ann', 'Ann', 'person', '{}', '2026-11-22 09:27:43');
INSERT INTO "entities" VALUES ('acme', 'Acme', 'company', '{}', '2026-11-22 09:27:43');
INSERT INTO "entities" VALUES ('berlin', 'Berlin', 'unknown', '{}', '2026-11-22 09:27:43');
CREATE TABLE triples (
                id TEXT PRIMARY KEY,
                subject TEXT NOT NULL,
                predicate TEXT NOT NULL,
                object TEXT NOT NULL,
                valid_from TEXT,
                valid_to TEXT,
                confidence REAL DEFAULT 1.0,
                source_closet TEXT,
                source_file TEXT,
                source_drawer_id TEXT,
                adapter_name TEXT,
                extracted_at TEXT DEFAULT CURRENT_TIMESTAMP,
                FOREIGN KEY (subject) REFERENCES entities(id),
                FOREIGN KEY (object) REFERENCES entities(id)
            );
INSERT INTO "triples" VALUES ('t_ann_works_at_acme_5796e49b2ec6', 'ann', 'works_at', 'acme', '2026-01-02', NULL, 1.0, NULL, NULL, NULL, NULL, '2026-11-22 09:27:43');
INSERT INTO "triples" VALUES ('t_ann_lives_in_berlin_513536dd4da6', 'ann', 'lives_in', 'berlin', '2025-01-02', '2026-02-01', 1.0, NULL, NULL, NULL, NULL, '2026-11-22 09:27:43');
