-- As in SQLite. Acting rests on it. No trigger follows its changes, since a neighbouring version refuses one that it does not know: the statements
-- that write it note them.
CREATE TABLE trustward.exemption_members (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  exemption_id text COLLATE "C" NOT NULL,
  prints text COLLATE "C",
  forgeable bigint NOT NULL,
  PRIMARY KEY (org, exemption_id)
);
SELECT trustward.keep_apart('exemption_members');
