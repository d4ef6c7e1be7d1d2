-- For lists of deliveries in a rare state, which read no other rows.
DROP INDEX deliveries_dead_letters;
CREATE INDEX deliveries_of_status ON deliveries (store_id, status, id)
    WHERE status IN ('retrying', 'dead_letter', 'cancelled');
