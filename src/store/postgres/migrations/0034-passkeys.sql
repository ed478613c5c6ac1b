-- As in SQLite. No trigger follows its changes, as with `rollouts`: the statements that write it note them.
CREATE TABLE trustward.passkeys (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  sub text COLLATE "C" NOT NULL,
  email text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  public_key text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  counter bigint NOT NULL,
  added_at bigint NOT NULL,
  removed_at bigint,
  used_at bigint,
  PRIMARY KEY (org, id)
);
SELECT trustward.keep_apart('passkeys');
