-- Open streams (server-sent events) of all replicas, to limit them per store.
CREATE TABLE open_streams (
    request_id text PRIMARY KEY,
    store_id   text NOT NULL REFERENCES stores,
    expires_at timestamptz NOT NULL -- the end of the lease, which the replica renews
);
CREATE INDEX open_streams_of_store ON open_streams (store_id);
CALL fence('open_streams', 'store_id');
