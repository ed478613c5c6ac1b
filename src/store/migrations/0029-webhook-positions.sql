-- How far each webhook that receives decisions and outcomes has got in the audit: all entries up to this number were delivered, or are not
-- for it.
CREATE TABLE webhook_positions (
  webhook TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  saved_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
