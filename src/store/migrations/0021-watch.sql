-- The run whose count of attempts a run between two whole ones continues: the last whole run before it. Null: it has its own count.
ALTER TABLE runs ADD COLUMN counts_with TEXT;

-- Runs between two whole ones are many: the newest whole run, and the newest runs that read lists, are found without reading the others.
CREATE INDEX runs_whole ON runs (seq) WHERE status = 'completed' AND scoped = 0;
CREATE INDEX runs_over_lists ON runs (seq) WHERE counts_with IS NULL;
