-- Signals are events of other logs: whose log it is; null and '' are the platform's own.
ALTER TABLE events ADD COLUMN transmitter TEXT;
ALTER TABLE coverage ADD COLUMN transmitter TEXT NOT NULL DEFAULT '';
