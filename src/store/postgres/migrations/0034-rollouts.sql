-- As in SQLite. Acting rests on it. No trigger follows its changes, since a neighbouring version refuses one that it does not know: the statements
-- that write it note them.
CREATE TABLE trustward.rollouts (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  rule text COLLATE "C" NOT NULL,
  meaning text COLLATE "C" NOT NULL,
  step bigint NOT NULL,
  passed_ms bigint NOT NULL,
  counted_at bigint,
  began_at bigint NOT NULL,
  since bigint NOT NULL,
  reversed text COLLATE "C" NOT NULL,
  exempted text COLLATE "C" NOT NULL,
  braked_at bigint,
  braked_why text COLLATE "C",
  is_planned bigint NOT NULL,
  PRIMARY KEY (org, rule)
);
SELECT trustward.keep_apart('rollouts');
