-- The plans that are in the place of a superseded one: a list of ids, as canonical JSON. Null: not superseded, or by an earlier version.
ALTER TABLE plans ADD COLUMN superseded_by TEXT;
