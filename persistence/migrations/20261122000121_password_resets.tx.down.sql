-- The owner, who need not be a superuser, sees no rows while row-level security is forced.
ALTER TABLE mails NO FORCE ROW LEVEL SECURITY;
DELETE FROM mails WHERE kind IN ('password_reset', 'customer_password_reset');
ALTER TABLE mails FORCE ROW LEVEL SECURITY;
ALTER TABLE mails
    DROP CONSTRAINT mails_kind_check,
    ADD CONSTRAINT mails_kind_check CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated'));
DROP TRIGGER end_password_resets ON users;
DROP FUNCTION end_password_resets;
DROP TRIGGER end_customer_password_resets ON customers;
DROP FUNCTION end_customer_password_resets;
DROP TABLE password_resets;
DROP TABLE customer_password_resets;
