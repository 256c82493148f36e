-- words of scripts without blanks are indexed as overlapping pairs of letters, as `segmented` of memoryd/text.py cuts them;
-- of what was there, only the records that have such letters are indexed again

CREATE FUNCTION segmented(said text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  letters CONSTANT text := '\u1100-\u115e\u1161-\u11ff\u3131-\u3163\u3165-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\u3041-\u3096'
    || '\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d\u3005-\u3007\u3105-\u312f\u31a0-\u31bf'
    || '\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46'
    || '\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061'
    || '\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e\u1780-\u17b3\u17d7\u17dc';
  marks CONSTANT text := '\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060'
    || '\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\u200b-\u200d'
    || '\u2060\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\uff9e\uff9f\U000e0100-\U000e01ef';
BEGIN
  IF said !~ format('[%s]', letters) THEN RETURN said; END IF;
  RETURN (
    SELECT string_agg(CASE WHEN part[1] IS NULL THEN part[2] ELSE ' ' || (
        SELECT coalesce(string_agg(letter || following, ' ' ORDER BY place), '') FROM (
          SELECT letter, coalesce(lead(letter) OVER (ORDER BY place), '') AS following, place
          FROM unnest(string_to_array(regexp_replace(normalize(part[1], NFKC), format('[%s]', marks), '', 'g'), NULL))
            WITH ORDINALITY AS run (letter, place)) pairs) || ' ' END, '' ORDER BY number)
    FROM regexp_matches(said, format('([%1$s][%1$s%2$s]*)|([^%1$s]+)', letters, marks), 'g')
      WITH ORDINALITY AS parts (part, number));
END $$;

CREATE OR REPLACE FUNCTION words_of(said text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
  RETURN to_tsvector('memoryd', translate(segmented(said), '_-./\:@#%&+=~^`|<>"''()[]{}*!?,;$', repeat(' ', 40)));
EXCEPTION WHEN program_limit_exceeded THEN  -- a tsvector holds a megabyte: of a longer text its beginning is found
  RETURN words_of(left(said, length(said) / 2));
END $$;

-- the column follows by itself; of what is deleted, too, since restoring it does not touch the text
UPDATE records SET body = body
WHERE segmented(coalesce(name, '') || type || body || tags) <> coalesce(name, '') || type || body || tags;
