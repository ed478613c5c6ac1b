-- Who is signed in to the page, and links that sign in once, of all endpoints. Hashes, never a code or a cookie. Times are the database's:
-- endpoints' clocks may differ. Those of tokens of all organizations have the organization `*`, which no file can have.
CREATE TABLE trustward.sign_ins (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  hash text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('link', 'session')),
  name text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  token text COLLATE "C",
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (org, hash)
);
CREATE INDEX sign_ins_by_token ON trustward.sign_ins (org, token, kind, made_at);
SELECT trustward.keep_apart('sign_ins');

-- Whether a token was revoked or has expired, so that its sessions end with it, at every endpoint at once. A token that no table has is one of the
-- configuration: the endpoint itself knows it. No session of an organization can read the tokens of all; this answers about one hash alone.
CREATE FUNCTION trustward.is_token_over(token text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = trustward, pg_catalog
AS $$
  SELECT EXISTS (
    SELECT 1 FROM (
      SELECT revoked_at, expires_at FROM trustward.endpoint_tokens WHERE hash = token
      UNION ALL SELECT revoked_at, expires_at FROM trustward.tokens_of_all WHERE hash = token
    ) AS known
    WHERE revoked_at IS NOT NULL OR expires_at <= extract(epoch FROM clock_timestamp()) * 1000
  )
$$;
