-- Payments of orders, as reported by the caller. The provider made them.
CREATE TABLE payments (
    id             text PRIMARY KEY,
    store_id       text NOT NULL REFERENCES stores,
    order_id       text NOT NULL REFERENCES orders,
    provider       text NOT NULL CHECK (provider = upper(provider)),
    transaction_id text NOT NULL,
    status         text NOT NULL CHECK (status IN ('SUCCEEDED', 'FAILED')),
    amount_minor   bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
    currency       text NOT NULL,
    payment_method text NOT NULL,
    card_last4     text NOT NULL,
    error_code     text NOT NULL CHECK ((status = 'FAILED') = (error_code <> '')),
    refunded_minor bigint NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL,
    UNIQUE (store_id, provider, transaction_id),
    CHECK (refunded_minor BETWEEN 0 AND CASE status WHEN 'SUCCEEDED' THEN amount_minor ELSE 0 END)
);
CREATE INDEX payments_of_order ON payments (store_id, order_id, created_at, id);
CALL fence('payments', 'store_id');

CREATE TABLE refunds (
    id                 text PRIMARY KEY,
    store_id           text NOT NULL REFERENCES stores,
    payment_id         text NOT NULL REFERENCES payments,
    order_id           text NOT NULL REFERENCES orders,
    amount_minor       bigint NOT NULL CHECK (amount_minor > 0),
    currency           text NOT NULL,
    reason             text NOT NULL,
    provider_refund_id text NOT NULL,
    business_date      date NOT NULL, -- business day of the refund, not of the order
    created_at         timestamptz NOT NULL,
    UNIQUE (payment_id, provider_refund_id)
);
CREATE INDEX refunds_of_payment ON refunds (store_id, payment_id, created_at, id);
CREATE INDEX refunds_by_business_date ON refunds (store_id, business_date);
CALL fence('refunds', 'store_id');

-- Ledger of loyalty points: the sum of a customer's lines is customers.loyalty_points.
CREATE TABLE loyalty_entries (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    customer_id text NOT NULL REFERENCES customers,
    order_id    text NOT NULL REFERENCES orders,
    refund_id   text UNIQUE REFERENCES refunds,
    kind        text NOT NULL CHECK (kind IN ('EARNED', 'REVERSED', 'RESTORED')),
    points      bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    CHECK ((kind = 'REVERSED') = (refund_id IS NOT NULL)),
    CHECK (CASE kind WHEN 'REVERSED' THEN points < 0 ELSE points > 0 END)
);
CREATE UNIQUE INDEX loyalty_earned_once ON loyalty_entries (order_id) WHERE kind = 'EARNED';
CREATE INDEX loyalty_of_order ON loyalty_entries (store_id, order_id);
CREATE INDEX loyalty_of_customer ON loyalty_entries (store_id, customer_id, created_at, id);
CALL fence('loyalty_entries', 'store_id');

-- True if the response returned an existing resource, so that its status is 200 instead of 201.
ALTER TABLE idempotency_keys ADD COLUMN existed boolean NOT NULL DEFAULT false;

-- version and updated_at concern the profile; changes of points and orders do not affect them. Searches compare columns
-- by bytes: on a table with row-level security, PostgreSQL uses an index only for leakproof comparisons.
ALTER TABLE customers
    ADD COLUMN version bigint NOT NULL DEFAULT 1,
    ADD CONSTRAINT points_not_negative CHECK (loyalty_points >= 0),
    ADD COLUMN search_name text COLLATE "C" GENERATED ALWAYS AS (lower(trim(first_name || ' ' || last_name))) STORED,
    ADD COLUMN search_surname text COLLATE "C" GENERATED ALWAYS AS
        (CASE WHEN last_name <> '' THEN lower(last_name)
            ELSE regexp_replace(lower(first_name), '^.*\s', '') END) STORED,
    ADD COLUMN search_email text COLLATE "C" GENERATED ALWAYS AS (lower(email)) STORED,
    ADD COLUMN search_phone text COLLATE "C" GENERATED ALWAYS AS (phone) STORED;
CREATE INDEX customers_by_name ON customers (store_id, search_name);
CREATE INDEX customers_by_surname ON customers (store_id, search_surname);
CREATE INDEX customers_by_search_email ON customers (store_id, search_email);
CREATE INDEX customers_by_phone ON customers (store_id, search_phone);
CREATE INDEX customers_newest ON customers (store_id, created_at, id);
CREATE INDEX customers_by_kind ON customers (store_id, kind, created_at, id);
CREATE INDEX customers_by_update ON customers (store_id, updated_at);

-- Delivery addresses of customers. One address of a customer is the default.
CREATE TABLE addresses (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    customer_id text NOT NULL REFERENCES customers,
    label       text NOT NULL,
    address     jsonb NOT NULL,
    is_default  boolean NOT NULL,
    version     bigint NOT NULL DEFAULT 1,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);
CREATE INDEX addresses_of_customer ON addresses (store_id, customer_id, created_at, id);
CREATE UNIQUE INDEX addresses_default ON addresses (customer_id) WHERE is_default;
CALL fence('addresses', 'store_id');
