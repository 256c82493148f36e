-- what the functions name lies in their own schema, whoever calls them: pg_restore does with an empty search_path, and so
-- lost every record. Not so json_each: it names nothing of ours, and is inlined only without settings

DO $$ DECLARE ours RECORD; BEGIN
  FOR ours IN
    SELECT p.oid::regprocedure AS function, p.pronamespace::regnamespace AS place FROM pg_proc p
    WHERE p.oid IN ('words_of(text)'::regprocedure, 'forget_vectors()'::regprocedure, 'note_word_change()'::regprocedure)
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', ours.function, ours.place);
  END LOOP;
END $$;
