CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
INSERT INTO cursorDiskKV VALUES ('composerData:k1', '{"composerId": "k1", "name": "Ports", "createdAt": 1771063462000, "fullConversationHeadersOnly": [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}]}');
INSERT INTO cursorDiskKV VALUES ('bubbleId:k1:b1', '{"type": 1, "text": "Which port?"}');
INSERT INTO cursorDiskKV VALUES ('bubbleId:k1:b2', '{"type": 2, "text": "5433.", "thinking": {"text": "Look."}}');
INSERT INTO cursorDiskKV VALUES ('composerData:k2', '{"composerId": "k2"}');
