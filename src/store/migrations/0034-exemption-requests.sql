-- What persons asked for: that a device of theirs is left alone for a time, and the answer. `person` is in lower case. Nothing that acts rests on it.
CREATE TABLE exemption_requests (
  id TEXT PRIMARY KEY,
  person TEXT NOT NULL,
  device TEXT NOT NULL,
  serial TEXT NOT NULL,
  name TEXT NOT NULL,
  rule TEXT,
  episode_id TEXT,
  reason TEXT NOT NULL,
  for_ms INTEGER NOT NULL,
  asked_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'granted', 'refused', 'withdrawn')),
  answered_at INTEGER,
  answered_by TEXT,
  sentence TEXT,
  exemption_id TEXT
) STRICT;
CREATE INDEX exemption_requests_newest ON exemption_requests (asked_at, id);
CREATE INDEX exemption_requests_by_status ON exemption_requests (status, asked_at, id);
CREATE INDEX exemption_requests_by_person ON exemption_requests (person, asked_at, id);
