-- Signals that were accepted and that no run or look has taken up yet: then they are rows of `events`. `received_at` is when, by our clock.
CREATE TABLE signals (
  id TEXT PRIMARY KEY,
  received_at INTEGER NOT NULL,
  transmitter TEXT NOT NULL,
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
) STRICT, WITHOUT ROWID;
CREATE INDEX signals_oldest ON signals (received_at, id);
-- Ids of what was accepted, for as long as it could be sent again: each counts once.
CREATE TABLE signal_ids (
  transmitter TEXT NOT NULL,
  jti TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (transmitter, jti)
) STRICT, WITHOUT ROWID;
CREATE INDEX signal_ids_until ON signal_ids (until);
-- For people: how many were accepted, named nobody, or were refused for which reason.
CREATE TABLE signal_counts (
  transmitter TEXT NOT NULL,
  what TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (transmitter, what)
) STRICT, WITHOUT ROWID;
-- What is known of each transmitter: the last contact, the stretch of time of which nothing is missing, and its stream.
CREATE TABLE transmitters (
  name TEXT PRIMARY KEY,
  contact_at INTEGER,
  known_from INTEGER,
  known_to INTEGER,
  stream TEXT
) STRICT, WITHOUT ROWID;
