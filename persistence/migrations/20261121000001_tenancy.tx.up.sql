-- Two roles that own nothing. comanda_app sees the rows of one store at a time, comanda_system those of all stores. The
-- login role of the service is a member of both and has no other privileges.
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

-- Returns the hex digits of a new UUIDv7, as every id contains.
CREATE FUNCTION uuidv7_hex() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
        || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14)
$$;

-- Enables row-level security on a table, also for its owner. store_column names the store to which a row belongs.
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

CREATE TABLE websites (
    id           text PRIMARY KEY,
    name         text NOT NULL,
    domain       text NOT NULL UNIQUE,
    plan         text NOT NULL CHECK (plan IN ('STARTER', 'GROW', 'PROFESSIONAL', 'ENTERPRISE')),
    suspended_at timestamptz,
    created_at   timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON websites TO comanda_system;

CREATE TABLE stores (
    id                       text PRIMARY KEY,
    website_id               text NOT NULL REFERENCES websites,
    name                     text NOT NULL,
    country_code             text NOT NULL CHECK (country_code ~ '^[A-Z]{2}$'),
    timezone                 text NOT NULL,
    business_day_cutoff_hour smallint NOT NULL DEFAULT 0 CHECK (business_day_cutoff_hour BETWEEN 0 AND 23),
    tax_rate_ppm             bigint NOT NULL DEFAULT 0 CHECK (tax_rate_ppm BETWEEN 0 AND 1000000),
    tax_included             boolean NOT NULL DEFAULT false,
    tax_delivery_fee         boolean NOT NULL DEFAULT false,
    delivery_fees            jsonb NOT NULL DEFAULT '{}', -- minor units by currency
    created_at               timestamptz NOT NULL
);
CREATE INDEX stores_by_website ON stores (website_id);
CALL fence('stores', 'id');

CREATE TABLE store_views (
    id         text PRIMARY KEY,
    store_id   text NOT NULL REFERENCES stores,
    code       text NOT NULL,
    locale     text NOT NULL,
    currency   text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    is_default boolean NOT NULL,
    UNIQUE (store_id, code)
);
CREATE UNIQUE INDEX store_views_default ON store_views (store_id) WHERE is_default;
CALL fence('store_views', 'store_id');

CREATE TABLE users (
    id            text PRIMARY KEY,
    email         text NOT NULL,
    name          text NOT NULL,
    password_hash text NOT NULL,
    platform_role text CHECK (platform_role IN ('ADMIN')),
    last_store_id text,
    disabled_at   timestamptz,
    created_at    timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_by_email ON users (lower(email));
GRANT SELECT, INSERT, UPDATE ON users TO comanda_system;

CREATE TABLE memberships (
    user_id    text NOT NULL REFERENCES users,
    store_id   text NOT NULL REFERENCES stores,
    role       text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'MANAGER', 'STAFF')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, store_id)
);
CREATE INDEX memberships_by_store ON memberships (store_id);
CALL fence('memberships', 'store_id');

-- One login of one user. No token is stored: a refresh token consists of the id and the counter of this row and a MAC.
CREATE TABLE sessions (
    id              text PRIMARY KEY,
    user_id         text NOT NULL REFERENCES users,
    active_store_id text REFERENCES stores,      -- null for platform administrators
    active_view_id  text REFERENCES store_views,
    refresh_counter bigint NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,        -- of the newest refresh token
    ended_at        timestamptz,
    CHECK ((active_store_id IS NULL) = (active_view_id IS NULL))
);
CREATE INDEX sessions_alive ON sessions (user_id) WHERE ended_at IS NULL;
GRANT SELECT, INSERT, UPDATE ON sessions TO comanda_system;
