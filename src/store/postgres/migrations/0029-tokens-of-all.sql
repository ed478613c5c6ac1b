-- Tokens of the endpoint that open every organization. They belong to none, and no session of an organization sees them. Hashes, never a token.
CREATE TABLE trustward.tokens_of_all (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  revoked_by text COLLATE "C",
  used_at bigint
);
CREATE UNIQUE INDEX tokens_of_all_names ON trustward.tokens_of_all (name) WHERE revoked_at IS NULL;

-- Whose a token is, before anything of an organization is opened. It follows `endpoint_tokens`; a session of an organization can neither read
-- nor write it.
CREATE TABLE trustward.token_owners (
  hash text COLLATE "C" NOT NULL,
  organization text COLLATE "C" NOT NULL,
  PRIMARY KEY (hash, organization)
);

CREATE FUNCTION trustward.note_token_owner() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = trustward, pg_catalog AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM trustward.token_owners WHERE hash = OLD.hash AND organization = OLD.org;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.revoked_at IS NULL THEN
    INSERT INTO trustward.token_owners VALUES (NEW.hash, NEW.org) ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_owner AFTER INSERT OR DELETE OR UPDATE OF hash, org, revoked_at ON trustward.endpoint_tokens
  FOR EACH ROW EXECUTE FUNCTION trustward.note_token_owner();
