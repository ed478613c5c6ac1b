-- In which run an attempt was made, so that applying the run's plan later counts it too. Null: a release, which counts by itself.
ALTER TABLE attempts ADD COLUMN run_id TEXT;
UPDATE attempts SET run_id = (SELECT run_id FROM intents WHERE intents.id = intent_id);
CREATE INDEX attempts_by_run ON attempts (run_id);
