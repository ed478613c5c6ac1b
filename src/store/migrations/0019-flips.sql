-- The smallest change that gives the rule another verdict, as canonical JSON. Null: none was found, or by an earlier version.
ALTER TABLE decisions ADD COLUMN flip TEXT;
