-- As in SQLite: whose log it is; null and '' are the platform's own.
ALTER TABLE trustward.events ADD COLUMN transmitter text COLLATE "C";
ALTER TABLE trustward.coverage ADD COLUMN transmitter text COLLATE "C" NOT NULL DEFAULT '';
