DROP TABLE customer_identities, customer_sessions;
ALTER TABLE customers
    DROP CONSTRAINT guests_cannot_log_in,
    DROP COLUMN disabled_at,
    DROP COLUMN email_proven,
    DROP COLUMN password_hash;
