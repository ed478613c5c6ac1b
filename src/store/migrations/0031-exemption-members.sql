-- Whom an exemption covers, as packed prints. `prints` is null until a trusted reading has shown it; an exemption of an earlier version has no
-- row until then. `forgeable`: 1 when a person accepted that devices report the selector's field themselves.
CREATE TABLE exemption_members (
  exemption_id TEXT PRIMARY KEY,
  prints TEXT,
  forgeable INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
