CREATE INDEX CONCURRENTLY IF NOT EXISTS customer_sessions_alive
    ON customer_sessions (store_id, customer_id) WHERE ended_at IS NULL;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS idempotency_keys_of_subject;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS mails_of_subject;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS refunds_of_order;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS customer_sessions_of_customer;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS outbox_erasing;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS outbox_without_subject;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS outbox_of_subject;
--bun:split
ALTER TABLE idempotency_keys DROP COLUMN IF EXISTS subject;
