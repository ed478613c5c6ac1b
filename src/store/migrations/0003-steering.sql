-- What people say to the engine: exemptions, the stop switch, readings taken as they are; and releases of claims.

CREATE TABLE exemptions (
  id TEXT PRIMARY KEY,
  subject_kind TEXT,
  subject_id TEXT,
  selector_kind TEXT,
  selector_field TEXT,
  selector_value TEXT,
  owner TEXT NOT NULL,
  reason TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  ended_at INTEGER,
  ended_by TEXT,
  ended_reason TEXT,
  used_at INTEGER,
  warned_at INTEGER,
  CHECK ((subject_id IS NULL) <> (selector_field IS NULL))
) STRICT;
CREATE INDEX exemptions_in_force ON exemptions (expires_at) WHERE ended_at IS NULL;

-- One row while everything is stopped, none else.
CREATE TABLE stop_switch (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  stopped_at INTEGER NOT NULL,
  stopped_by TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;

CREATE TABLE acceptances (
  source TEXT PRIMARY KEY,
  accepted_at INTEGER NOT NULL,
  accepted_by TEXT NOT NULL,
  reason TEXT NOT NULL,
  run_id TEXT NOT NULL,
  causes TEXT NOT NULL,
  count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An undo that a person asked for: it does not wait for the trouble to be over, and its claims end as `released`.
ALTER TABLE intents ADD COLUMN released INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN steering TEXT;
