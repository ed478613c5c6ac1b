-- What the engine saw, decided and did. Times are epoch milliseconds; documents are canonical JSON.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  mode TEXT NOT NULL,
  daemon_mode TEXT NOT NULL,
  run_trigger TEXT NOT NULL,
  rules TEXT NOT NULL,
  rule_set_hash TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'aborted')),
  error TEXT,
  demo INTEGER NOT NULL,
  snapshot TEXT,
  tallies TEXT,
  plan_digest TEXT,
  plan_id TEXT
) STRICT;

CREATE TABLE episodes (
  id TEXT PRIMARY KEY,
  rule TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  since INTEGER NOT NULL,
  matching_since INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('matching', 'clearing', 'frozen', 'closed')),
  state_since INTEGER NOT NULL,
  absent_since INTEGER,
  seen_so INTEGER NOT NULL,
  overridden_at INTEGER,
  closed_at INTEGER,
  close_reason TEXT
) STRICT;
CREATE UNIQUE INDEX episodes_open ON episodes (rule, kind, subject) WHERE state <> 'closed';

CREATE TABLE intents (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  mode TEXT NOT NULL,
  plan_id TEXT,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  settings TEXT NOT NULL,
  undo INTEGER NOT NULL,
  approved INTEGER NOT NULL,
  basis TEXT NOT NULL,
  effect TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('planned', 'sent', 'settled', 'withdrawn')),
  outcome TEXT,
  attempts INTEGER NOT NULL,
  doubt_retries INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  sent_at INTEGER,
  settled_at INTEGER,
  note TEXT
) STRICT;
CREATE INDEX intents_status ON intents (status, outcome);

-- INVARIANT: one live intent for one action, target and episode. A dry or withdrawn one called nothing and is not live.
CREATE TABLE intent_episodes (
  intent_id TEXT NOT NULL REFERENCES intents (id),
  episode_id TEXT NOT NULL REFERENCES episodes (id),
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  live INTEGER NOT NULL,
  PRIMARY KEY (intent_id, episode_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX intent_episodes_live ON intent_episodes (episode_id, action, target) WHERE live = 1;

CREATE TABLE attempts (
  id INTEGER PRIMARY KEY,
  intent_id TEXT NOT NULL REFERENCES intents (id),
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  rules TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  answered_at INTEGER,
  answer TEXT
) STRICT;
CREATE INDEX attempts_by_action ON attempts (action, sent_at);

CREATE TABLE claims (
  id TEXT PRIMARY KEY,
  episode_id TEXT NOT NULL REFERENCES episodes (id),
  rule TEXT NOT NULL,
  subject TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  intent_id TEXT NOT NULL REFERENCES intents (id),
  status TEXT NOT NULL CHECK (status IN ('standing', 'orphaned', 'ended', 'overridden', 'released')),
  opened_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX claims_status ON claims (status, target);
CREATE UNIQUE INDEX claims_open ON claims (episode_id, action, target) WHERE status IN ('standing', 'orphaned');

CREATE TABLE decisions (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  run_seq INTEGER NOT NULL,
  written_at INTEGER NOT NULL,
  ended_seq INTEGER,
  rule TEXT NOT NULL,
  rule_hash TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  subject_name TEXT NOT NULL,
  verdict TEXT NOT NULL,
  since INTEGER NOT NULL,
  decision TEXT NOT NULL CHECK (decision IN ('act', 'hold', 'skip')),
  reason TEXT NOT NULL,
  reason_text TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  mode TEXT NOT NULL,
  capped_by TEXT,
  facts TEXT NOT NULL,
  effect TEXT NOT NULL,
  episode_id TEXT,
  intent_id TEXT,
  outcome TEXT,
  outcome_text TEXT
) STRICT;
CREATE INDEX decisions_standing ON decisions (rule) WHERE ended_seq IS NULL;
CREATE INDEX decisions_run ON decisions (run_seq, ended_seq);
CREATE INDEX decisions_subject ON decisions (subject, run_seq);
CREATE INDEX decisions_intent ON decisions (intent_id) WHERE intent_id IS NOT NULL;
CREATE INDEX decisions_episode ON decisions (episode_id) WHERE ended_seq IS NULL;

CREATE TABLE plans (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL,
  run_id TEXT NOT NULL,
  mode TEXT NOT NULL,
  status TEXT NOT NULL,
  intents TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER,
  decided_by TEXT,
  decided_reason TEXT
) STRICT;
CREATE INDEX plans_status ON plans (status, created_at);

CREATE TABLE rejected_intents (
  key TEXT NOT NULL,
  episode_id TEXT NOT NULL REFERENCES episodes (id),
  plan_id TEXT NOT NULL,
  PRIMARY KEY (key, episode_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  id TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL,
  device_id TEXT,
  serial_number TEXT,
  email TEXT,
  service_id TEXT,
  service_name TEXT,
  type TEXT NOT NULL,
  sub_type TEXT NOT NULL,
  action TEXT NOT NULL,
  severity TEXT NOT NULL,
  result TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX events_time ON events (created_at);

CREATE TABLE coverage (from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL) STRICT;

CREATE TABLE baselines (
  source TEXT PRIMARY KEY,
  taken_at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  fact_values TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  bytes TEXT NOT NULL,
  prev TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
