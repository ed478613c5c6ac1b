-- Streams by which receivers hear what was done and undone: what each asked for, and how far it is in the audit (`seq`: the last entry that was looked
-- at). `due_at` is when SETs are pushed again, or until when a process has them. Nothing that acts rests on either table.
CREATE TABLE signal_streams (
  id TEXT PRIMARY KEY,
  receiver TEXT NOT NULL UNIQUE,
  settings TEXT NOT NULL,
  seq INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  note TEXT,
  delivered_at INTEGER,
  verified_at INTEGER
) STRICT, WITHOUT ROWID;

-- Signed security event tokens that their receiver has not taken yet.
CREATE TABLE signal_sets (
  stream TEXT NOT NULL,
  seq INTEGER NOT NULL,
  jti TEXT NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (stream, seq, jti)
) STRICT, WITHOUT ROWID;

-- A token may be one of a receiver: it opens its stream and nothing else.
CREATE TABLE endpoint_tokens_again (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('signals', 'read', 'trigger', 'approve', 'admin')),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  revoked_by TEXT,
  used_at INTEGER
) STRICT;
INSERT INTO endpoint_tokens_again SELECT * FROM endpoint_tokens;
DROP TABLE endpoint_tokens;
ALTER TABLE endpoint_tokens_again RENAME TO endpoint_tokens;
CREATE UNIQUE INDEX endpoint_tokens_in_use ON endpoint_tokens (name) WHERE revoked_at IS NULL;
