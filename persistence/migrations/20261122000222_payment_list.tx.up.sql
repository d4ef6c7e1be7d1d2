-- An index for each filter of the list of a store's payments, in the order of the list.
CREATE INDEX payments_newest ON payments (store_id, created_at, id);
CREATE INDEX payments_by_status ON payments (store_id, status, created_at, id);
CREATE INDEX payments_by_provider ON payments (store_id, provider, created_at, id);
