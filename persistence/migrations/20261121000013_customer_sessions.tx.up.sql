-- Credentials of registered customers. Guests have none.
ALTER TABLE customers
    ADD COLUMN password_hash text NOT NULL DEFAULT '',      -- '' = none
    ADD COLUMN email_proven  boolean NOT NULL DEFAULT false, -- ownership of the email was proven
    ADD COLUMN disabled_at   timestamptz,
    ADD CONSTRAINT guests_cannot_log_in CHECK (kind = 'registered' OR password_hash = '');

-- One login of one customer, as sessions for users.
CREATE TABLE customer_sessions (
    id              text PRIMARY KEY,
    store_id        text NOT NULL REFERENCES stores,
    customer_id     text NOT NULL REFERENCES customers,
    refresh_counter bigint NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    rotated_at      timestamptz,          -- time of the last refresh
    expires_at      timestamptz NOT NULL, -- of the newest refresh token
    ended_at        timestamptz,
    end_reason      text CHECK (end_reason IN ('logout', 'reuse')),
    CHECK (end_reason IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX customer_sessions_alive ON customer_sessions (store_id, customer_id) WHERE ended_at IS NULL;
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
