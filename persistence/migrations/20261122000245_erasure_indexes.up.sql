-- The indexes of the erasure of a customer. Each is built without blocking writes, and therefore outside of a
-- transaction. A repeated migration first drops the rest of an interrupted build.

-- The subject of the created object, see app.Subject; '' = none. Null in rows of the previous release, for a day.
ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS subject text;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS outbox_of_subject;
--bun:split
CREATE INDEX CONCURRENTLY outbox_of_subject ON outbox (subject) WHERE subject IS NOT NULL;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS outbox_without_subject;
--bun:split
-- Events of the previous release. The retention sets their subject.
CREATE INDEX CONCURRENTLY outbox_without_subject ON outbox (store_id) WHERE subject IS NULL AND body IS NOT NULL;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS outbox_erasing;
--bun:split
CREATE INDEX CONCURRENTLY outbox_erasing ON outbox (erasing) WHERE erasing IS NOT NULL;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS customer_sessions_of_customer;
--bun:split
CREATE INDEX CONCURRENTLY customer_sessions_of_customer ON customer_sessions (store_id, customer_id);
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS refunds_of_order;
--bun:split
CREATE INDEX CONCURRENTLY refunds_of_order ON refunds (store_id, order_id);
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS mails_of_subject;
--bun:split
CREATE INDEX CONCURRENTLY mails_of_subject ON mails (subject) WHERE ended_at IS NULL;
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS idempotency_keys_of_subject;
--bun:split
CREATE INDEX CONCURRENTLY idempotency_keys_of_subject ON idempotency_keys (store_id, subject);
--bun:split
DROP INDEX CONCURRENTLY IF EXISTS customer_sessions_alive;
