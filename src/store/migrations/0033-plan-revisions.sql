-- What a waiting plan held before a run changed it: the digest that a person may have read, with its intents, and how the next content differs.
CREATE TABLE plan_revisions (
  plan_id TEXT NOT NULL,
  no INTEGER NOT NULL,
  digest TEXT NOT NULL,
  run_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  intents TEXT NOT NULL,
  change TEXT NOT NULL,
  PRIMARY KEY (plan_id, no)
) STRICT, WITHOUT ROWID;
