-- a perspective is a template now, which fits any model; and a record's place in a list is found by its name
ALTER TABLE perspectives RENAME COLUMN instruction TO template;
