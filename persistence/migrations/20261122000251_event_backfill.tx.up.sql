-- Gives positions to the events that were dispatched before the previous migration. It takes no lock that delays other
-- transactions. Within a millisecond, these positions are in the upper half, which new events do not reach.
INSERT INTO event_log (id, store_id, position, type)
SELECT id, store_id, event_position(occurred_at) + (1 << 19)
    + row_number() OVER (PARTITION BY store_id, event_position(occurred_at) ORDER BY id), type
FROM outbox WHERE dispatched_at IS NOT NULL AND placed IS NULL AND type <> 'test.ping'
ON CONFLICT (id) DO NOTHING;

INSERT INTO event_heads AS h (store_id, position, previous, taken)
SELECT store_id, max(position), 0, 0 FROM event_log GROUP BY store_id ORDER BY store_id
ON CONFLICT (store_id) DO UPDATE SET position = greatest(h.position, excluded.position);
