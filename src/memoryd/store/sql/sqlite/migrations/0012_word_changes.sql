-- which records got other words or lost them: what a process has in memory of the index is read again from there on

CREATE TABLE word_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, rid INTEGER NOT NULL);
CREATE TRIGGER word_changes_ai AFTER INSERT ON word_changes BEGIN  -- who is further behind reads all again
  DELETE FROM word_changes WHERE seq <= new.seq - 1000; END;

CREATE TRIGGER records_reworded AFTER UPDATE OF name, type, body, tags, deleted_at ON records BEGIN
  INSERT INTO word_changes (rid) VALUES (old.rid); END;
CREATE TRIGGER records_erased AFTER DELETE ON records WHEN old.deleted_at IS NULL BEGIN
  INSERT INTO word_changes (rid) VALUES (old.rid); END;
