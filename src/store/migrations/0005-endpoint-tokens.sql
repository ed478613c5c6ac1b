-- Bearer tokens of the HTTP endpoint, as hashes. Revoked ones stay: their names are in the audit.

CREATE TABLE endpoint_tokens (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('read', 'trigger', 'approve', 'admin')),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  revoked_by TEXT,
  used_at INTEGER
) STRICT;
CREATE UNIQUE INDEX endpoint_tokens_in_use ON endpoint_tokens (name) WHERE revoked_at IS NULL;
