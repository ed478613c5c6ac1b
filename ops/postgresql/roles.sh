#!/bin/sh
# What an administrator does once in a cluster of PostgreSQL: the role that Trustward logs in with, the role that it works as, and a database.
# The container of compose.yaml runs it when its volume is empty. psql finds the server as always (PGHOST, PGPORT), as POSTGRES_USER.
set -eu
psql -v ON_ERROR_STOP=1 --no-psqlrc --quiet --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  -v password="$(cat "${TRUSTWARD_DB_PASSWORD_FILE:?}")" <<'SQL'
CREATE ROLE trustward_work NOLOGIN;
CREATE ROLE trustward LOGIN PASSWORD :'password';
GRANT trustward_work TO trustward;
CREATE DATABASE trustward OWNER trustward ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE trustward FROM PUBLIC;
SQL
