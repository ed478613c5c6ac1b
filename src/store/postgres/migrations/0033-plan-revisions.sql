-- As in SQLite.
CREATE TABLE trustward.plan_revisions (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  plan_id text COLLATE "C" NOT NULL,
  no bigint NOT NULL,
  digest text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  intents text COLLATE "C" NOT NULL,
  change text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, plan_id, no)
);
SELECT trustward.keep_apart('plan_revisions');
