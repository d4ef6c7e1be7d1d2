-- Client ids of the social login providers. Each belongs to one website, whose customers log in with tokens for it.
CREATE TABLE website_client_ids (
    provider   text NOT NULL CHECK (provider IN ('google', 'apple', 'facebook')),
    client_id  text NOT NULL CHECK (client_id <> ''),
    website_id text NOT NULL REFERENCES websites,
    PRIMARY KEY (provider, client_id)
);
CREATE INDEX website_client_ids_of_website ON website_client_ids (website_id, provider);
GRANT SELECT, INSERT, UPDATE, DELETE ON website_client_ids TO comanda_system;

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
