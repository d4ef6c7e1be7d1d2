-- Work that a transaction has ordered and a workflow is to do: an outbox of starts. A row
-- goes once its workflow has been started.
CREATE TABLE jobs (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    kind        text NOT NULL,
    subject     text NOT NULL,
    created_at  timestamptz NOT NULL,
    lease_until timestamptz NOT NULL -- some relay is starting the workflow until then
);
CREATE INDEX jobs_free ON jobs (lease_until);
CALL fence('jobs', 'store_id');
