-- Requests of platform administrators with an Idempotency-Key, like idempotency_keys. They belong to no store.
CREATE TABLE platform_idempotency_keys (
    credential text NOT NULL,  -- the user
    route      text NOT NULL,  -- method and path
    key        text NOT NULL,
    body_hash  bytea NOT NULL,
    response   bytea NOT NULL, -- the created object as JSON, without values that are shown once
    existed    boolean NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (credential, route, key)
);
CREATE INDEX platform_idempotency_keys_age ON platform_idempotency_keys (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON platform_idempotency_keys TO comanda_system;
