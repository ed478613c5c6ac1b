-- Which runs are old, and what was made in them: asked at the end of every run, and not by reading whole rows.
CREATE INDEX runs_by_end ON runs (finished_at);
CREATE INDEX intents_by_run ON intents (run_id);
CREATE INDEX plans_by_run ON plans (run_id);
