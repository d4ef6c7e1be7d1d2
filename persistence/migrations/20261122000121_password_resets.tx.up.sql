-- Links that reset a password, once. Only the hash of the token is stored. Sessions, logins and links of users belong
-- to no store.
CREATE TABLE password_resets (
    id         text PRIMARY KEY,
    user_id    text NOT NULL REFERENCES users,
    token_hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX password_resets_of_user ON password_resets (user_id, created_at, id);
GRANT SELECT, INSERT, DELETE ON password_resets TO comanda_system;

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

-- A change of the email or the password, and disabling, end all links. Triggers apply the rule to every statement.
CREATE FUNCTION end_password_resets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM password_resets WHERE user_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER end_password_resets AFTER UPDATE ON users FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.password_hash <> OLD.password_hash
        OR NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL)
    EXECUTE FUNCTION end_password_resets();

CREATE FUNCTION end_customer_password_resets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM customer_password_resets WHERE store_id = NEW.store_id AND customer_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER end_customer_password_resets AFTER UPDATE ON customers FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.password_hash <> OLD.password_hash
        OR NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL)
    EXECUTE FUNCTION end_customer_password_resets();

ALTER TABLE mails
    DROP CONSTRAINT mails_kind_check,
    ADD CONSTRAINT mails_kind_check CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated',
        'password_reset', 'customer_password_reset'));
