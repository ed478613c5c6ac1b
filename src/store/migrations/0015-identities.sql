-- By which names people find subjects: what trusted readings have shown, kept up by difference. Nothing that acts reads it.

CREATE TABLE identities (
  no INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  serial TEXT NOT NULL,
  name TEXT NOT NULL,
  platform TEXT NOT NULL,
  model TEXT NOT NULL,
  -- E-mail addresses, a JSON list; NULL: no reading has shown them.
  owners TEXT,
  -- Without outer spaces and in lower case. An empty serial number or name is not looked for.
  id_key TEXT NOT NULL,
  serial_key TEXT,
  name_key TEXT,
  first_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  -- Since when trusted lists no longer have it.
  gone_at INTEGER,
  -- Fingerprints of what a reading without owners shows of it, and of one with owners.
  print INTEGER NOT NULL,
  owners_print INTEGER,
  UNIQUE (kind, id)
) STRICT;
CREATE INDEX identities_by_id ON identities (id_key);
CREATE INDEX identities_by_serial ON identities (serial_key) WHERE serial_key IS NOT NULL;
CREATE INDEX identities_by_name ON identities (name_key) WHERE name_key IS NOT NULL;
CREATE INDEX identities_present ON identities (kind, no, print, owners_print) WHERE gone_at IS NULL;

CREATE TABLE identity_owners (
  owner_key TEXT NOT NULL,
  no INTEGER NOT NULL REFERENCES identities (no),
  PRIMARY KEY (owner_key, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_owners_of ON identity_owners (no);
