DROP TRIGGER end_password_resets ON users;
DROP TRIGGER end_customer_password_resets ON customers;
DROP INDEX customers_by_search_email;
ALTER TABLE customers DROP COLUMN search_email;

ALTER TABLE users ALTER COLUMN email TYPE text COLLATE "default";
ALTER TABLE invitations ALTER COLUMN email TYPE text COLLATE "default";
ALTER TABLE customers ALTER COLUMN email TYPE text COLLATE "default";

ALTER TABLE customers
    ADD COLUMN search_email text COLLATE "C" GENERATED ALWAYS AS (lower(email COLLATE "default")) STORED;
CREATE INDEX customers_by_search_email ON customers (store_id, search_email);
CREATE TRIGGER end_password_resets AFTER UPDATE ON users FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.password_hash <> OLD.password_hash
        OR NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL)
    EXECUTE FUNCTION end_password_resets();
CREATE TRIGGER end_customer_password_resets AFTER UPDATE ON customers FOR EACH ROW
    WHEN (NEW.email <> OLD.email OR NEW.password_hash <> OLD.password_hash
        OR NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL)
    EXECUTE FUNCTION end_customer_password_resets();
