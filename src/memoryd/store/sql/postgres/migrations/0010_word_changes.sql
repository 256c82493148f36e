-- which records got other words or lost them: what a process has in memory of the index is read again for these. `seq` is
-- the time in microseconds, or one more than the last: a server that takes over without the last changes uses none again

CREATE TABLE word_changes (
  workspace_id TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, seq));
ALTER TABLE word_changes ALTER workspace_id SET STATISTICS 0;

CREATE FUNCTION note_word_change() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE
  changed records := CASE WHEN TG_OP = 'DELETE' THEN old ELSE new END;
  now_us bigint := (extract(epoch FROM clock_timestamp()) * 1e6)::bigint;
BEGIN
  IF now_us % 64 = 0 THEN  -- at times; who is further behind than an hour reads all again
    DELETE FROM word_changes WHERE workspace_id = changed.workspace_id AND seq < now_us - 3600000000;
  END IF;
  INSERT INTO word_changes (workspace_id, seq, id)
  SELECT changed.workspace_id, greatest(now_us, coalesce(max(seq), 0) + 1), changed.id
  FROM word_changes WHERE workspace_id = changed.workspace_id;
  RETURN NULL; END $$;
CREATE TRIGGER records_reworded AFTER INSERT OR UPDATE OF name, type, body, tags, deleted_at ON records
  FOR EACH ROW EXECUTE FUNCTION note_word_change();
CREATE TRIGGER records_erased AFTER DELETE ON records
  FOR EACH ROW WHEN (old.deleted_at IS NULL) EXECUTE FUNCTION note_word_change();

-- from what is in memory to the records
CREATE INDEX records_hash ON records (workspace_id, hashtextextended(id, 0));
