-- Requested changes of customers' emails, at most one for each customer. Only the hash of the token is stored.
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

-- A change of the email or the password, and disabling, end the request. A trigger applies the rule to every statement.
CREATE FUNCTION end_customer_email_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM customer_email_changes WHERE store_id = NEW.store_id AND customer_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER end_customer_email_change AFTER UPDATE ON customers FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.password_hash <> OLD.password_hash
        OR NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL)
    EXECUTE FUNCTION end_customer_email_change();

ALTER TABLE mails
    DROP CONSTRAINT mails_kind_check,
    ADD CONSTRAINT mails_kind_check CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated',
        'password_reset', 'customer_password_reset', 'order_reminder', 'order_cancelled', 'customer_email_change',
        'customer_email_notice'));
