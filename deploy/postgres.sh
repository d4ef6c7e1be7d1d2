#!/bin/sh
# Creates the databases of Comanda and of Temporal, each with a separate role. The owner of Comanda's database runs the
# migrations. API and worker each have two logins that own nothing: one can become the role that sees the rows of one
# store at a time, the other one the role that sees those of all stores. None of them is a superuser.
set -eu
psql -v ON_ERROR_STOP=1 -v owner="$COMANDA_OWNER_PASSWORD" \
	-v serve="$COMANDA_SERVE_PASSWORD" -v serve_system="$COMANDA_SERVE_SYSTEM_PASSWORD" \
	-v worker="$COMANDA_WORKER_PASSWORD" -v worker_system="$COMANDA_WORKER_SYSTEM_PASSWORD" \
	-v temporal="$TEMPORAL_DB_PASSWORD" --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE comanda_app NOLOGIN;
CREATE ROLE comanda_system NOLOGIN;
CREATE ROLE comanda_serve LOGIN NOINHERIT PASSWORD :'serve' IN ROLE comanda_app;
CREATE ROLE comanda_serve_system LOGIN NOINHERIT PASSWORD :'serve_system' IN ROLE comanda_system;
CREATE ROLE comanda_worker LOGIN NOINHERIT PASSWORD :'worker' IN ROLE comanda_app;
CREATE ROLE comanda_worker_system LOGIN NOINHERIT PASSWORD :'worker_system' IN ROLE comanda_system;
CREATE ROLE comanda_owner LOGIN PASSWORD :'owner';
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE comanda OWNER comanda_owner;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE ALL ON DATABASE comanda, temporal, temporal_visibility, postgres FROM PUBLIC;
GRANT CONNECT ON DATABASE comanda
	TO comanda_owner, comanda_serve, comanda_serve_system, comanda_worker, comanda_worker_system;
SQL
