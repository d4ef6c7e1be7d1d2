#!/bin/sh
# Creates the databases of Comanda and of Temporal, each with a separate role. The owner of Comanda's database runs the
# migrations. Comanda's processes log in with a role that owns nothing and can become one of the two roles that can
# access the rows. None of them is a superuser.
set -eu
psql -v ON_ERROR_STOP=1 -v owner="$COMANDA_OWNER_PASSWORD" -v login="$COMANDA_DB_PASSWORD" \
	-v temporal="$TEMPORAL_DB_PASSWORD" --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE comanda_app NOLOGIN;
CREATE ROLE comanda_system NOLOGIN;
CREATE ROLE comanda LOGIN NOINHERIT PASSWORD :'login' IN ROLE comanda_app, comanda_system;
CREATE ROLE comanda_owner LOGIN PASSWORD :'owner';
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE comanda OWNER comanda_owner;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE ALL ON DATABASE comanda, temporal, temporal_visibility, postgres FROM PUBLIC;
GRANT CONNECT ON DATABASE comanda TO comanda, comanda_owner;
SQL
