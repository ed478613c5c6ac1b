-- Rows of a kilobyte in a table without row ids take a page of four kilobytes each: events have row ids now.
CREATE TABLE events_in_order (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  device_id TEXT,
  serial_number TEXT,
  email TEXT,
  service_id TEXT,
  service_name TEXT,
  type TEXT NOT NULL,
  sub_type TEXT NOT NULL,
  action TEXT NOT NULL,
  severity TEXT NOT NULL,
  result TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
INSERT INTO events_in_order (id, created_at, device_id, serial_number, email, service_id, service_name, type, sub_type, action, severity, result, body)
SELECT id, created_at, device_id, serial_number, email, service_id, service_name, type, sub_type, action, severity, result, body
FROM events ORDER BY created_at, id;
DROP TABLE events;
ALTER TABLE events_in_order RENAME TO events;
CREATE INDEX events_time ON events (created_at);

-- The snapshot and the tallies of a run, packed. Then `snapshot` is null, and `tallies` has only what statements read: the counts.
ALTER TABLE runs ADD COLUMN findings BLOB;
