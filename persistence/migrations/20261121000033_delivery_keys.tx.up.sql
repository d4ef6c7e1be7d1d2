-- Returns the hex digits of a UUIDv7 of a given time. place orders up to 4,096 ids of the same time.
CREATE FUNCTION uuidv7_hex(at timestamptz, place bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(least(place, 4095)), 3, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 17)
$$;

-- The id of a delivery contains its creation time, so that the primary key finds deliveries by time.
UPDATE deliveries d SET created_at = t.made FROM (
    SELECT id,
        timestamptz 'epoch' + interval '1 ms' * ('x' || lpad(substr(id, 5, 12), 16, '0'))::bit(64)::bigint AS made
    FROM deliveries WHERE id ~ '^dlv_[0-9a-f]{32}$'
) t WHERE t.id = d.id AND d.created_at <> t.made;

-- A dead letter without another reason gets the error of its last attempt as its reason.
UPDATE deliveries d SET reason = a.error FROM attempts a
WHERE d.status = 'dead_letter' AND d.reason = '' AND a.delivery_id = d.id AND a.number = d.attempts;

-- For lists and bulk replays, which read deliveries by status and type. Pending deliveries are few and not included, so
-- that a delivery that succeeds at its first attempt is written to each index only once.
DROP INDEX deliveries_of_store, deliveries_of_subscription, deliveries_of_status, deliveries_pending;
CREATE INDEX deliveries_of_store ON deliveries (store_id, status, event_type, id) WHERE status <> 'pending';
CREATE INDEX deliveries_of_subscription ON deliveries (subscription_id, status, event_type, id) INCLUDE (store_id)
    WHERE status <> 'pending';
CREATE INDEX deliveries_pending ON deliveries (store_id, subscription_id) WHERE status = 'pending';

-- For counting attempts by type with index-only scans.
DROP INDEX attempts_of_subscription;
CREATE INDEX attempts_of_subscription ON attempts (subscription_id, attempted_at, id)
    INCLUDE (store_id, status, event_type, response_time_ms, is_test);
