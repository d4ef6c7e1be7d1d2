-- Jobs: work that a transaction enqueues and a workflow does. A row is deleted when its workflow has started.
CREATE TABLE jobs (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    kind        text NOT NULL,
    subject     text NOT NULL,
    created_at  timestamptz NOT NULL,
    lease_until timestamptz NOT NULL -- end of the lease of a worker
);
CREATE INDEX jobs_free ON jobs (lease_until);
CALL fence('jobs', 'store_id');
