DROP TABLE sessions, memberships, users, store_views, stores, websites;
DROP PROCEDURE fence(regclass, name);
DROP FUNCTION uuidv7_hex();
REVOKE SELECT ON bun_migrations FROM comanda_system;
