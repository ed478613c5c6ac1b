-- Passkeys that persons registered: removed ones stay, since the audit has what was signed with them. Acting rests on it: who has one may not answer
-- a plan without it.
CREATE TABLE passkeys (
  id TEXT PRIMARY KEY,
  issuer TEXT NOT NULL,
  sub TEXT NOT NULL,
  email TEXT NOT NULL,
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  origin TEXT NOT NULL,
  counter INTEGER NOT NULL,
  added_at INTEGER NOT NULL,
  removed_at INTEGER,
  used_at INTEGER
) STRICT, WITHOUT ROWID;
