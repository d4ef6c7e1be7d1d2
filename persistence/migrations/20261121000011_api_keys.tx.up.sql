-- A sandbox is the twin of a live store for tests. Its data never reaches the live store.
ALTER TABLE stores ADD COLUMN sandbox_of text UNIQUE REFERENCES stores CHECK (sandbox_of <> id);

-- A sandbox has the members and roles of its live store. Triggers copy every change.
CREATE FUNCTION mirror_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_user = 'comanda_app' THEN
        RAISE EXCEPTION 'comanda_app sees one store at a time, '
            'and a change of members may concern two: use comanda_system';
    END IF;
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM memberships WHERE user_id = OLD.user_id
            AND store_id = (SELECT id FROM stores WHERE sandbox_of = OLD.store_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO memberships (user_id, store_id, role, created_at)
            SELECT NEW.user_id, id, NEW.role, NEW.created_at FROM stores WHERE sandbox_of = NEW.store_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER mirror_membership AFTER INSERT OR UPDATE OR DELETE ON memberships
    FOR EACH ROW EXECUTE FUNCTION mirror_membership();

-- Only the hash of a key is stored. store_id is the only store that the key can access.
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
