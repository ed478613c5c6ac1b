-- A first list of a fleet adds all its names at once: rows go to the end of a table, and all keys of a row to one small index, in order.
-- A key is a hash of the name (`trustward_name_hash`, src/store/identity-keys.ts): whoever looks one up compares the name itself.

CREATE TABLE identities_kept (
  no INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  serial TEXT NOT NULL,
  name TEXT NOT NULL,
  platform TEXT NOT NULL,
  model TEXT NOT NULL,
  -- E-mail addresses, a JSON list; NULL: no reading has shown them.
  owners TEXT,
  first_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  -- Since when trusted lists no longer have it.
  gone_at INTEGER,
  -- Fingerprints of what a reading without owners shows of it, and of one with owners.
  print INTEGER NOT NULL,
  owners_print INTEGER
) STRICT;
INSERT INTO identities_kept SELECT no, kind, id, serial, name, platform, model, owners, first_at, changed_at, gone_at, print, owners_print
FROM identities ORDER BY no;

CREATE TABLE identity_keys (hash INTEGER NOT NULL, no INTEGER NOT NULL, PRIMARY KEY (hash, no)) STRICT, WITHOUT ROWID;
INSERT INTO identity_keys
SELECT trustward_name_hash('id', id_key) AS hash, no FROM identities
UNION SELECT trustward_name_hash('serial', serial_key), no FROM identities WHERE serial_key IS NOT NULL
UNION SELECT trustward_name_hash('name', name_key), no FROM identities WHERE name_key IS NOT NULL ORDER BY 1, 2;

CREATE TABLE identity_owners_kept (owner_key TEXT NOT NULL, no INTEGER NOT NULL, PRIMARY KEY (owner_key, no)) STRICT, WITHOUT ROWID;
INSERT INTO identity_owners_kept SELECT owner_key, no FROM identity_owners ORDER BY 1, 2;

DROP TABLE identity_owners;
DROP TABLE identities;
ALTER TABLE identities_kept RENAME TO identities;
ALTER TABLE identity_owners_kept RENAME TO identity_owners;
CREATE INDEX identities_present ON identities (kind, no, print, owners_print) WHERE gone_at IS NULL;
CREATE INDEX identity_owners_of ON identity_owners (no);
CREATE INDEX identities_gone ON identities (kind) WHERE gone_at IS NOT NULL;
