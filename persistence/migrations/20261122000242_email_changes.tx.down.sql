-- The owner, who need not be a superuser, sees no rows while row-level security is forced.
ALTER TABLE mails NO FORCE ROW LEVEL SECURITY;
DELETE FROM mails WHERE kind IN ('customer_email_change', 'customer_email_notice');
ALTER TABLE mails FORCE ROW LEVEL SECURITY;
ALTER TABLE mails
    DROP CONSTRAINT mails_kind_check,
    ADD CONSTRAINT mails_kind_check CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated',
        'password_reset', 'customer_password_reset', 'order_reminder', 'order_cancelled'));
DROP TRIGGER end_customer_email_change ON customers;
DROP FUNCTION end_customer_email_change;
DROP TABLE customer_email_changes;
