-- How far each rule with a rollout is: its step, the time that counted in it, and what people reversed or exempted since. `meaning` is the hash of
-- what the rule matches and does.
CREATE TABLE rollouts (
  rule TEXT PRIMARY KEY,
  meaning TEXT NOT NULL,
  step INTEGER NOT NULL,
  passed_ms INTEGER NOT NULL,
  counted_at INTEGER,
  began_at INTEGER NOT NULL,
  since INTEGER NOT NULL,
  reversed TEXT NOT NULL,
  exempted TEXT NOT NULL,
  braked_at INTEGER,
  braked_why TEXT,
  is_planned INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
