DROP INDEX deliveries_of_status;
CREATE INDEX deliveries_dead_letters ON deliveries (store_id, id) WHERE status = 'dead_letter';
