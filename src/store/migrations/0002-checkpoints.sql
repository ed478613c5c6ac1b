-- Signed checkpoints of the audit chain, and archives of its oldest entries. `line` is the exact text that is also in the
-- file outside. Nothing here is ever changed or deleted.

CREATE TABLE checkpoints (
  size INTEGER PRIMARY KEY,
  line TEXT NOT NULL
) STRICT;
CREATE TRIGGER checkpoints_no_update BEFORE UPDATE ON checkpoints BEGIN SELECT RAISE(ABORT, 'checkpoints are append-only'); END;
CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(ABORT, 'checkpoints are append-only'); END;

CREATE TABLE audit_archives (
  to_seq INTEGER PRIMARY KEY REFERENCES checkpoints (size),
  from_seq INTEGER NOT NULL,
  head TEXT NOT NULL,
  file TEXT NOT NULL,
  digest TEXT NOT NULL,
  archived_at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER audit_archives_no_update BEFORE UPDATE ON audit_archives BEGIN SELECT RAISE(ABORT, 'archives are append-only'); END;
CREATE TRIGGER audit_archives_no_delete BEFORE DELETE ON audit_archives BEGIN SELECT RAISE(ABORT, 'archives are append-only'); END;

-- The one way out of the audit: an entry may go when a verified archive holds it, which is itself an entry of the audit.
DROP TRIGGER audit_no_delete;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
WHEN OLD.seq > (SELECT coalesce(max(to_seq), 0) FROM audit_archives)
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
