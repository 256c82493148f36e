-- who wrote what a record said before
ALTER TABLE versions ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE versions ADD COLUMN tool TEXT NOT NULL DEFAULT '';
