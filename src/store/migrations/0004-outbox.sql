-- What people are told outside. A notification is written with what it tells of, and delivered afterwards.

CREATE TABLE notifications (
  id TEXT PRIMARY KEY,
  recipient TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('notify', 'alert')),
  at INTEGER NOT NULL,
  text TEXT NOT NULL,
  about TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'delivered', 'given_up')),
  attempts INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  note TEXT
) STRICT;
CREATE INDEX notifications_due ON notifications (next_at) WHERE status = 'waiting';

-- Conditions that people were told of and that last: not told again.
CREATE TABLE alerts (
  key TEXT PRIMARY KEY,
  code TEXT NOT NULL,
  raised_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
