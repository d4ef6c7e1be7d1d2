#!/bin/sh
# Makes Comanda's database and the role that its processes log in with: a member of the
# two roles that see rows, and owner of nothing.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$COMANDA_DB_PASSWORD" --username "$POSTGRES_USER" <<'SQL'
CREATE DATABASE comanda;
CREATE ROLE comanda_app NOLOGIN;
CREATE ROLE comanda_system NOLOGIN;
CREATE ROLE comanda LOGIN NOINHERIT PASSWORD :'password' IN ROLE comanda_app, comanda_system;
SQL
