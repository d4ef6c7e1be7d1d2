-- Status changes of orders, with their actors.
CREATE TABLE order_history (
    order_id    text NOT NULL REFERENCES orders,
    store_id    text NOT NULL REFERENCES stores,
    version     bigint NOT NULL, -- version of the order after the change
    from_status text,            -- null = the order was placed
    to_status   text NOT NULL,
    reason      text NOT NULL,   -- reason of a cancellation
    actor_realm text NOT NULL,   -- '' = the service itself
    actor_id    text NOT NULL,
    event_id    text NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (order_id, version)
);
CALL fence('order_history', 'store_id');

-- Stock that the order reduced, and that its cancellation restores.
ALTER TABLE order_items ADD COLUMN stock_taken boolean NOT NULL DEFAULT false;

-- Columns for searches, compared by bytes. On a table with row-level security, PostgreSQL uses an index only for
-- leakproof comparisons. Neither lower() nor LIKE is leakproof.
ALTER TABLE orders
    ADD COLUMN search_name text COLLATE "C" GENERATED ALWAYS AS (lower(customer_name)) STORED,
    ADD COLUMN search_surname text COLLATE "C"
        GENERATED ALWAYS AS (regexp_replace(lower(customer_name), '^.*\s', '')) STORED,
    ADD COLUMN search_email text COLLATE "C" GENERATED ALWAYS AS (lower(customer_email)) STORED,
    ADD COLUMN search_phone text COLLATE "C" GENERATED ALWAYS AS (customer_phone) STORED;
CREATE INDEX orders_by_name ON orders (store_id, search_name);
CREATE INDEX orders_by_surname ON orders (store_id, search_surname);
CREATE INDEX orders_by_email ON orders (store_id, search_email);
CREATE INDEX orders_by_phone ON orders (store_id, search_phone);

-- An index for each filter of the list, in the order of the list.
CREATE INDEX orders_by_status ON orders (store_id, status, created_at, id);
CREATE INDEX orders_by_fulfillment ON orders (store_id, fulfillment_type, created_at, id);
CREATE INDEX orders_by_source ON orders (store_id, source, created_at, id);
CREATE INDEX orders_by_business_date ON orders (store_id, business_date, created_at, id);
CREATE INDEX orders_to_refund ON orders (store_id, created_at, id) WHERE status = 'CANCELLED'
    AND paid_minor > refunded_minor;
CREATE INDEX orders_by_update ON orders (store_id, updated_at);
