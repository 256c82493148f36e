-- the words within an identifier are indexed, too ("user profile" finds getUserProfile), as `indexed` of memoryd/text.py
-- adds them; of what was there, only the records with such identifiers are indexed again

CREATE OR REPLACE FUNCTION indexed(said text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
  IF said !~ '[a-z][A-Z]|[A-Za-z0-9][A-Z][a-z][a-z]' THEN RETURN segmented(said); END IF;
  RETURN segmented(said) || coalesce((
    SELECT string_agg(' ' || parts, '' ORDER BY number) FROM (
      SELECT name[1] AS name, number, regexp_replace(regexp_replace(
        name[1], '([a-z])([A-Z])', '\1 \2', 'g'), '([A-Za-z0-9])([A-Z][a-z][a-z])', '\1 \2', 'g') AS parts
      FROM regexp_matches(said, '(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9]{2,63})(?![A-Za-z0-9])', 'g')
        WITH ORDINALITY AS names (name, number)) named
    WHERE parts <> name), '');
END $$;

CREATE OR REPLACE FUNCTION words_of(said text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
  RETURN to_tsvector('memoryd', translate(indexed(said), '_-./\:@#%&+=~^`|<>"''()[]{}*!?,;$', repeat(' ', 40)));
EXCEPTION WHEN program_limit_exceeded THEN  -- a tsvector holds a megabyte: of a longer text its beginning is found
  RETURN words_of(left(said, length(said) / 2));
END $$;

DO $$ DECLARE ours RECORD; BEGIN
  FOR ours IN
    SELECT p.oid::regprocedure AS function, p.pronamespace::regnamespace AS place FROM pg_proc p
    WHERE p.oid IN ('words_of(text)'::regprocedure, 'indexed(text)'::regprocedure)
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', ours.function, ours.place);
  END LOOP;
END $$;

-- the column follows by itself; of what is deleted, too, since restoring it does not touch the text
UPDATE records SET body = body
WHERE indexed(body) <> segmented(body) OR indexed(coalesce(name, '')) <> segmented(coalesce(name, ''))
  OR indexed(type || ' ' || tags || ' ' || related) <> segmented(type || ' ' || tags || ' ' || related);
