-- Identity: users, API keys and customers, with their sessions and links.
--
-- Tokens and links are not stored, only their hashes. The collation C makes the comparison of emails independent of the
-- locale of the database: lower() of such a column, as in the unique indexes, changes ASCII letters only, like
-- app.NormalEmail.

CREATE TABLE users (
    id              text PRIMARY KEY,
    email           text COLLATE "C" NOT NULL,
    email_proven    boolean NOT NULL,          -- a mailed link was used, or the operator entered the email
    name            text NOT NULL,
    password_hash   text NOT NULL,
    platform_role   text CHECK (platform_role IN ('ADMIN')),
    last_store_id   text,
    otp_secret      bytea,                     -- sealed for the user's id; null = none
    otp_pending_at  timestamptz,               -- start of a setup that no code has confirmed
    otp_enabled_at  timestamptz,
    otp_last_step   bigint NOT NULL DEFAULT 0, -- of the newest accepted code; codes up to it are used up
    recovery_hashes text[] NOT NULL DEFAULT '{}', -- Argon2id of the unused recovery codes, with one salt
    disabled_at     timestamptz,
    created_at      timestamptz NOT NULL,
    CONSTRAINT otp_has_a_secret CHECK ((otp_secret IS NULL) = (otp_pending_at IS NULL AND otp_enabled_at IS NULL)),
    CONSTRAINT otp_is_pending_or_on CHECK (otp_pending_at IS NULL OR otp_enabled_at IS NULL)
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

-- A sandbox has the members and roles of its live store. A trigger copies every change. It waits for a transaction that
-- has locked the row of the live store to create its sandbox, and then finds the sandbox.
CREATE FUNCTION mirror_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_user = 'comanda_app' THEN
        RAISE EXCEPTION
            'comanda_app sees one store at a time, and a change of members may concern two: use comanda_system';
    END IF;
    PERFORM FROM stores WHERE id = coalesce(NEW.store_id, OLD.store_id) AND sandbox_of IS NULL FOR SHARE;
    IF TG_OP = 'DELETE' THEN
        DELETE FROM memberships
        WHERE user_id = OLD.user_id AND store_id = (SELECT id FROM stores WHERE sandbox_of = OLD.store_id);
    ELSE
        INSERT INTO memberships (user_id, store_id, role, created_at)
            SELECT NEW.user_id, id, NEW.role, NEW.created_at FROM stores WHERE sandbox_of = NEW.store_id
            ON CONFLICT (user_id, store_id) DO UPDATE SET role = excluded.role, created_at = excluded.created_at;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER mirror_membership AFTER INSERT OR UPDATE OR DELETE ON memberships
    FOR EACH ROW EXECUTE FUNCTION mirror_membership();

-- Invitations to join stores of a website. An accepted invitation is kept until its expiry.
CREATE TABLE invitations (
    id          text PRIMARY KEY,
    website_id  text NOT NULL REFERENCES websites,
    email       text COLLATE "C" NOT NULL,
    name        text NOT NULL,
    role        text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'MANAGER', 'STAFF')),
    store_ids   text[] NOT NULL CHECK (cardinality(store_ids) > 0),
    token_hash  bytea NOT NULL UNIQUE,
    mailed      boolean NOT NULL DEFAULT false, -- the link was sent to the address, and shown to nobody
    failures    integer NOT NULL DEFAULT 0,     -- wrong credentials of existing users so far
    invited_by  text NOT NULL REFERENCES users,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    accepted_at timestamptz
);
CREATE UNIQUE INDEX invitations_pending ON invitations (website_id, lower(email)) WHERE accepted_at IS NULL;
CREATE INDEX invitations_by_inviter ON invitations (invited_by) WHERE accepted_at IS NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON invitations TO comanda_system;

-- An invitation ends when its inviter is no longer an enabled OWNER of each of its stores. Platform administrators are
-- members of no store; their invitations stay. Triggers apply the rule to every change of a member or a user.
CREATE FUNCTION end_invitations_of_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM invitations WHERE invited_by = OLD.user_id AND OLD.store_id = ANY (store_ids) AND accepted_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER end_invitations_on_removal AFTER DELETE ON memberships
    FOR EACH ROW WHEN (OLD.role = 'OWNER') EXECUTE FUNCTION end_invitations_of_member();
CREATE TRIGGER end_invitations_on_demotion AFTER UPDATE ON memberships
    FOR EACH ROW WHEN (OLD.role = 'OWNER' AND NEW.role <> 'OWNER') EXECUTE FUNCTION end_invitations_of_member();

CREATE FUNCTION end_invitations_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM invitations WHERE invited_by = NEW.id AND accepted_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER end_invitations_on_disabling AFTER UPDATE ON users FOR EACH ROW
    WHEN (NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL AND NEW.platform_role IS NULL)
    EXECUTE FUNCTION end_invitations_of_user();

-- One login of one user. No token is stored: a refresh token consists of the id and the counter of this row and a MAC.
CREATE TABLE sessions (
    id              text PRIMARY KEY,
    user_id         text NOT NULL REFERENCES users,
    active_store_id text REFERENCES stores,      -- null for platform administrators
    active_view_id  text REFERENCES store_views,
    refresh_counter bigint NOT NULL DEFAULT 0,
    proven_at       timestamptz NOT NULL,        -- when the user last gave the password
    address         text NOT NULL DEFAULT '',    -- of the client at login
    user_agent      text NOT NULL DEFAULT '',    -- of the client at login, at most 256 characters
    created_at      timestamptz NOT NULL,
    rotated_at      timestamptz,                 -- time of the last refresh
    expires_at      timestamptz NOT NULL,        -- of the newest refresh token
    ended_at        timestamptz,
    end_reason      text CHECK (end_reason IN ('logout', 'reuse', 'ended', 'password', 'admin')),
    CHECK ((active_store_id IS NULL) = (active_view_id IS NULL)),
    CHECK (end_reason IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX sessions_alive ON sessions (user_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_view ON sessions (active_view_id); -- finds the sessions that must leave a deleted view
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO comanda_system;

-- Links that reset a password, once. Links of users belong to no store.
CREATE TABLE password_resets (
    id         text PRIMARY KEY,
    user_id    text NOT NULL REFERENCES users,
    token_hash bytea NOT NULL UNIQUE,
    mailed     boolean NOT NULL, -- to the email of the user; otherwise, the operator got the link
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX password_resets_of_user ON password_resets (user_id, created_at, id);
GRANT SELECT, INSERT, DELETE ON password_resets TO comanda_system;

-- A change of the email or the password, and disabling, end all links. A trigger applies the rule to every statement.
CREATE FUNCTION end_password_resets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM password_resets WHERE user_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER end_password_resets AFTER UPDATE ON users FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.password_hash <> OLD.password_hash
        OR NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL)
    EXECUTE FUNCTION end_password_resets();

-- store_id is the only store that an API key can access.
CREATE TABLE api_keys (
    id           text PRIMARY KEY,
    store_id     text NOT NULL REFERENCES stores,
    name         text NOT NULL,
    scopes       text[] NOT NULL CHECK (cardinality(scopes) > 0),
    mode         text NOT NULL CHECK (mode IN ('live', 'test')),
    hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32), -- SHA-256
    last_four    text NOT NULL CHECK (length(last_four) = 4),
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz, -- updated at most once a minute
    revoked_at   timestamptz
);
CREATE INDEX api_keys_newest ON api_keys (store_id, id);
CALL fence('api_keys', 'store_id');

-- Customers of a store. A guest checkout creates or reuses a row of kind 'guest', and never changes a registered
-- customer with the same email. Guests have no credentials. version and updated_at concern the profile; changes of
-- points and orders do not affect them.
--
-- Searches compare the columns search_* by bytes. On a table with row-level security, PostgreSQL uses an index only
-- for leakproof comparisons. Neither lower() nor LIKE is leakproof.
CREATE TABLE customers (
    id             text PRIMARY KEY,
    store_id       text NOT NULL REFERENCES stores,
    kind           text NOT NULL CHECK (kind IN ('guest', 'registered')),
    email          text COLLATE "C" NOT NULL DEFAULT '',
    first_name     text NOT NULL DEFAULT '',
    last_name      text NOT NULL DEFAULT '',
    phone          text NOT NULL DEFAULT '',
    password_hash  text NOT NULL DEFAULT '',       -- '' = none
    email_proven   boolean NOT NULL DEFAULT false, -- ownership of the email was proven
    loyalty_points bigint NOT NULL DEFAULT 0,
    total_orders   bigint NOT NULL DEFAULT 0,
    external_id    text NOT NULL DEFAULT '',       -- reference of an integration to its own data
    metadata       jsonb NOT NULL DEFAULT '{}',    -- strings by key
    version        bigint NOT NULL DEFAULT 1,
    business_date  date NOT NULL,                  -- business day of the creation
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    disabled_at    timestamptz,
    erased_at      timestamptz,                    -- the personal data was replaced
    search_name    text COLLATE "C" GENERATED ALWAYS AS (lower(trim(first_name || ' ' || last_name))) STORED,
    search_surname text COLLATE "C" GENERATED ALWAYS AS
        (CASE WHEN last_name <> '' THEN lower(last_name)
            ELSE regexp_replace(lower(first_name), '^.*\s', '') END) STORED,
    search_email   text COLLATE "C" GENERATED ALWAYS AS (lower(email COLLATE "default")) STORED,
    search_phone   text COLLATE "C" GENERATED ALWAYS AS (phone) STORED,
    CONSTRAINT guests_cannot_log_in CHECK (kind = 'registered' OR password_hash = ''),
    CONSTRAINT points_not_negative CHECK (loyalty_points >= 0)
);
CREATE UNIQUE INDEX customers_by_email ON customers (store_id, kind, lower(email)) WHERE email <> '';
CREATE UNIQUE INDEX guests_by_phone ON customers (store_id, phone) WHERE kind = 'guest' AND email = '' AND phone <> '';
CREATE UNIQUE INDEX customers_by_external_id ON customers (store_id, external_id) WHERE external_id <> '';
CREATE INDEX customers_by_name ON customers (store_id, search_name);
CREATE INDEX customers_by_surname ON customers (store_id, search_surname);
CREATE INDEX customers_by_search_email ON customers (store_id, search_email);
CREATE INDEX customers_by_phone ON customers (store_id, search_phone, created_at, id); -- the newest first
CREATE INDEX customers_newest ON customers (store_id, created_at, id);
CREATE INDEX customers_by_kind ON customers (store_id, kind, created_at, id);
CREATE INDEX customers_by_update ON customers (store_id, updated_at);
CREATE INDEX customers_by_day ON customers (store_id, business_date);
CALL fence('customers', 'store_id');

-- Delivery addresses of customers. One address of a customer is the default.
CREATE TABLE addresses (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    customer_id text NOT NULL REFERENCES customers,
    label       text NOT NULL,
    address     jsonb NOT NULL,
    is_default  boolean NOT NULL,
    version     bigint NOT NULL DEFAULT 1,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);
CREATE INDEX addresses_of_customer ON addresses (store_id, customer_id, created_at, id);
CREATE UNIQUE INDEX addresses_default ON addresses (customer_id) WHERE is_default;
CALL fence('addresses', 'store_id');

-- One login of one customer, as sessions for users. The reason 'claim': the owner of the email claimed the account.
CREATE TABLE customer_sessions (
    id              text PRIMARY KEY,
    store_id        text NOT NULL REFERENCES stores,
    customer_id     text NOT NULL REFERENCES customers,
    refresh_counter bigint NOT NULL DEFAULT 0,
    address         text NOT NULL DEFAULT '',
    user_agent      text NOT NULL DEFAULT '',
    created_at      timestamptz NOT NULL,
    rotated_at      timestamptz,          -- time of the last refresh
    expires_at      timestamptz NOT NULL, -- of the newest refresh token
    ended_at        timestamptz,
    end_reason      text CHECK (end_reason IN ('logout', 'reuse', 'ended', 'password', 'admin', 'claim')),
    CHECK (end_reason IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX customer_sessions_of_customer ON customer_sessions (store_id, customer_id);
CALL fence('customer_sessions', 'store_id');

-- Social logins of customers.
CREATE TABLE customer_identities (
    store_id    text NOT NULL REFERENCES stores,
    provider    text NOT NULL CHECK (provider IN ('google', 'apple', 'facebook')),
    subject     text NOT NULL,
    customer_id text NOT NULL REFERENCES customers,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (store_id, provider, subject)
);
CREATE INDEX customer_identities_of_customer ON customer_identities (store_id, customer_id);
CALL fence('customer_identities', 'store_id');

-- ID tokens that are used up. A token counts once per website, so the key does not contain the store.
CREATE TABLE used_id_tokens (
    website_id text NOT NULL REFERENCES websites,
    hash       bytea NOT NULL,       -- SHA-256 of the signed claims
    store_id   text NOT NULL REFERENCES stores,
    expires_at timestamptz NOT NULL, -- of the token
    PRIMARY KEY (website_id, hash)
);
CREATE INDEX used_id_tokens_expired ON used_id_tokens (expires_at);
CALL fence('used_id_tokens', 'store_id');

CREATE TABLE customer_password_resets (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    customer_id text NOT NULL REFERENCES customers,
    token_hash  bytea NOT NULL UNIQUE,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL
);
CREATE INDEX customer_password_resets_of_customer ON customer_password_resets (store_id, customer_id, created_at, id);
CALL fence('customer_password_resets', 'store_id');

-- Requested changes of customers' emails, at most one for each customer.
CREATE TABLE customer_email_changes (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    customer_id text NOT NULL REFERENCES customers,
    email       text NOT NULL, -- the new one
    token_hash  bytea NOT NULL UNIQUE,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    UNIQUE (store_id, customer_id)
);
CALL fence('customer_email_changes', 'store_id');

-- The rule of end_password_resets for the links of customers.
CREATE FUNCTION end_customer_password_resets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM customer_password_resets WHERE store_id = NEW.store_id AND customer_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER end_customer_password_resets AFTER UPDATE ON customers FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.password_hash <> OLD.password_hash
        OR NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL)
    EXECUTE FUNCTION end_customer_password_resets();

CREATE FUNCTION end_customer_email_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM customer_email_changes WHERE store_id = NEW.store_id AND customer_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER end_customer_email_change AFTER UPDATE ON customers FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.password_hash <> OLD.password_hash
        OR NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL)
    EXECUTE FUNCTION end_customer_email_change();
