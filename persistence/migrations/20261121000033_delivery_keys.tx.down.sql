DROP INDEX attempts_of_subscription;
CREATE INDEX attempts_of_subscription ON attempts (subscription_id, attempted_at, id)
    INCLUDE (store_id, status, response_time_ms, is_test);
DROP INDEX deliveries_of_store, deliveries_of_subscription, deliveries_pending;
CREATE INDEX deliveries_of_store ON deliveries (store_id, id);
CREATE INDEX deliveries_of_subscription ON deliveries (subscription_id, id);
CREATE INDEX deliveries_of_status ON deliveries (store_id, status, id)
    WHERE status IN ('retrying', 'dead_letter', 'cancelled');
CREATE INDEX deliveries_pending ON deliveries (subscription_id) WHERE status = 'pending';
DROP FUNCTION uuidv7_hex(timestamptz, bigint);
