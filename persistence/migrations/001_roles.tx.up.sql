-- Roles and helpers. Read the files of this folder in the order of their numbers; persistence/schema.sql shows the
-- result.

-- Two roles that own nothing. comanda_app sees the rows of one store at a time, comanda_system those of all stores. A
-- login role of the service is a member of one of them, or of both, and has no other privileges.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['comanda_app', 'comanda_system'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN', name);
            END IF;
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL; -- another database of the cluster has created it
        END;
    END LOOP;
END $$;

GRANT SELECT ON bun_migrations TO comanda_system;

-- Enables row-level security on a table, also for its owner. store_column names the store to which a row belongs. The
-- service sets comanda.store_id at the start of a transaction.
CREATE PROCEDURE fence(tenant_table regclass, store_column name) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('CREATE POLICY one_store ON %s TO comanda_app '
        'USING (%I = current_setting(''comanda.store_id'', true))',
        tenant_table, store_column);
    EXECUTE format('CREATE POLICY every_store ON %s TO comanda_system USING (true)', tenant_table);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO comanda_app, comanda_system', tenant_table);
END $$;

-- Returns the hex digits of a new UUIDv7, as every id contains.
CREATE FUNCTION uuidv7_hex() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
        || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14)
$$;

-- Returns the hex digits of a UUIDv7 of a given time. place orders up to 4,096 ids of the same time.
CREATE FUNCTION uuidv7_hex(at timestamptz, place bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(least(place, 4095)), 3, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 17)
$$;
