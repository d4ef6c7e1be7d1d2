-- What became of an order, and who did it.
CREATE TABLE order_history (
    order_id    text NOT NULL REFERENCES orders,
    store_id    text NOT NULL REFERENCES stores,
    version     bigint NOT NULL, -- which the order had from then on
    from_status text,            -- null: it was placed
    to_status   text NOT NULL,
    reason      text NOT NULL,   -- of a cancellation
    actor_realm text NOT NULL,   -- '' = the service itself
    actor_id    text NOT NULL,
    event_id    text NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (order_id, version)
);
CALL fence('order_history', 'store_id');

-- What was counted when it was ordered, and is given back when the order is cancelled.
ALTER TABLE order_items ADD COLUMN stock_taken boolean NOT NULL DEFAULT false;

-- What searches compare. Columns, not expressions, and in bytes: of a table with row-level
-- security, an index serves only comparisons that PostgreSQL knows to be leakproof, which
-- neither lower() nor LIKE is.
ALTER TABLE orders
    ADD COLUMN search_name text COLLATE "C" GENERATED ALWAYS AS (lower(customer_name)) STORED,
    ADD COLUMN search_surname text COLLATE "C" GENERATED ALWAYS AS (regexp_replace(lower(customer_name), '^.*\s', '')) STORED,
    ADD COLUMN search_email text COLLATE "C" GENERATED ALWAYS AS (lower(customer_email)) STORED,
    ADD COLUMN search_phone text COLLATE "C" GENERATED ALWAYS AS (customer_phone) STORED;
CREATE INDEX orders_by_name ON orders (store_id, search_name);
CREATE INDEX orders_by_surname ON orders (store_id, search_surname);
CREATE INDEX orders_by_email ON orders (store_id, search_email);
CREATE INDEX orders_by_phone ON orders (store_id, search_phone);

-- One for each filter of the list, in the list's order.
CREATE INDEX orders_by_status ON orders (store_id, status, created_at, id);
CREATE INDEX orders_by_fulfillment ON orders (store_id, fulfillment_type, created_at, id);
CREATE INDEX orders_by_source ON orders (store_id, source, created_at, id);
CREATE INDEX orders_by_business_date ON orders (store_id, business_date, created_at, id);
CREATE INDEX orders_to_refund ON orders (store_id, created_at, id) WHERE status = 'CANCELLED' AND paid_minor > refunded_minor;
CREATE INDEX orders_by_update ON orders (store_id, updated_at);
