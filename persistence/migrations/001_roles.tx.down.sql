DROP PROCEDURE fence;
DROP FUNCTION uuidv7_hex();
DROP FUNCTION uuidv7_hex(timestamptz, bigint);
REVOKE SELECT ON bun_migrations FROM comanda_system; -- the roles stay: other databases of the cluster may use them
