-- Sessions of persons for whom an identity provider vouches, sign-ins that were begun there, tokens of it that ended sessions, and
-- what passkeys are asked to sign. They are of kinds of
-- their own: an endpoint of the version before, which runs beside, knows none of them, so it opens nothing for a person.
ALTER TABLE trustward.sign_ins ADD COLUMN person jsonb;
ALTER TABLE trustward.sign_ins DROP CONSTRAINT sign_ins_kind_check;
ALTER TABLE trustward.sign_ins ADD CONSTRAINT sign_ins_kind_check CHECK (kind IN ('link', 'session', 'person', 'begun', 'ended', 'touch'));
