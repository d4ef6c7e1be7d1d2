-- A list of the deliveries in a rare state reads these and no others.
DROP INDEX deliveries_dead_letters;
CREATE INDEX deliveries_of_status ON deliveries (store_id, status, id) WHERE status IN ('retrying', 'dead_letter', 'cancelled');
