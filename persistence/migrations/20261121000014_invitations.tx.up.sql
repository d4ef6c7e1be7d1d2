-- Invitations to join stores of a website. Only the hash of the token is stored. An accepted invitation is kept until
-- its expiry.
CREATE TABLE invitations (
    id          text PRIMARY KEY,
    website_id  text NOT NULL REFERENCES websites,
    email       text NOT NULL,
    name        text NOT NULL,
    role        text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'MANAGER', 'STAFF')),
    store_ids   text[] NOT NULL CHECK (cardinality(store_ids) > 0),
    token_hash  bytea NOT NULL UNIQUE,
    invited_by  text NOT NULL REFERENCES users,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    accepted_at timestamptz
);
CREATE UNIQUE INDEX invitations_pending ON invitations (website_id, lower(email)) WHERE accepted_at IS NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON invitations TO comanda_system;
