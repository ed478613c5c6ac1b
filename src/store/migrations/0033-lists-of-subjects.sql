-- What lists of devices, users and services filter and sort by: a few facts as digits of one number (-1: of an earlier version, until the next
-- trusted reading), and the name as it is sorted. One index serves every filter and order; the one before had fingerprints that nothing reads.
ALTER TABLE identities ADD COLUMN facts INTEGER NOT NULL DEFAULT -1;
ALTER TABLE identities ADD COLUMN sort_key TEXT NOT NULL DEFAULT '';
DROP INDEX identities_present;
CREATE INDEX identities_listed ON identities (kind, facts, sort_key) WHERE gone_at IS NULL;

-- Which names have a word: the first number, and the distance of each next one. Whoever looks a word up compares the name itself: a number whose
-- name was changed stays here.
CREATE TABLE identity_words (word INTEGER NOT NULL, first_no INTEGER NOT NULL, rest TEXT NOT NULL, PRIMARY KEY (word, first_no)) STRICT, WITHOUT ROWID;
