-- The owner, who need not be a superuser, sees no rows while row-level security is forced.
ALTER TABLE mails NO FORCE ROW LEVEL SECURITY;
DELETE FROM mails WHERE kind IN ('order_reminder', 'order_cancelled');
ALTER TABLE mails FORCE ROW LEVEL SECURITY;
ALTER TABLE mails
    DROP CONSTRAINT mails_kind_check,
    ADD CONSTRAINT mails_kind_check CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated',
        'password_reset', 'customer_password_reset'));
DROP TABLE acceptances;
