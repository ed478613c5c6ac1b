-- As in SQLite. A neighbouring version adds rows of identities without facts, and no words: the next reading of this version completes them.
ALTER TABLE trustward.identities ADD COLUMN facts bigint NOT NULL DEFAULT -1;
ALTER TABLE trustward.identities ADD COLUMN sort_key text COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX trustward.identities_present;
CREATE INDEX identities_listed ON trustward.identities (org, kind, facts, sort_key, no) WHERE gone_at IS NULL;

CREATE TABLE trustward.identity_words (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  word bigint NOT NULL,
  first_no bigint NOT NULL,
  rest text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, word, first_no)
);
SELECT trustward.keep_apart('identity_words');
