-- Orders, their payments and loyalty points. Amounts are in minor units of the order's currency.

-- The last order number of a store. Each order locks it until the commit, so that the numbers have no gaps.
CREATE TABLE order_numbers (
    store_id text PRIMARY KEY REFERENCES stores,
    last     bigint NOT NULL
);
CALL fence('order_numbers', 'store_id');

-- The columns customer_* are a snapshot of the customer, taken when the order is placed. Searches compare the columns
-- search_* by bytes, see customers. An order as soon as possible has neither requested_for nor due_at.
CREATE TABLE orders (
    id                  text PRIMARY KEY,
    store_id            text NOT NULL REFERENCES stores,
    number              bigint NOT NULL,
    store_view_id       text NOT NULL,
    status              text NOT NULL
        CHECK (status IN ('RECEIVED', 'CONFIRMED', 'PREPARING', 'READY', 'OUT_FOR_DELIVERY', 'COMPLETED', 'CANCELLED')),
    previous_status     text,
    cancellation_reason text NOT NULL DEFAULT '',
    fulfillment_type    text NOT NULL CHECK (fulfillment_type IN ('DELIVERY', 'PICKUP', 'DINE_IN')),
    source              text NOT NULL CHECK (source IN ('WEB', 'MOBILE', 'POS', 'PHONE', 'API')),
    channel             text CHECK (channel <> ''), -- sales channel; null = the store's own
    customer_id         text REFERENCES customers, -- null = nobody, or a guest without email and phone number
    customer_name       text NOT NULL,
    customer_email      text NOT NULL,
    customer_phone      text NOT NULL,
    delivery_address    jsonb,
    table_label         text NOT NULL DEFAULT '',
    note                text NOT NULL,
    requested_for       timestamptz,
    promised_at         timestamptz NOT NULL,
    due_at              timestamptz, -- start of the preparation
    item_count          bigint NOT NULL CHECK (item_count > 0),
    subtotal_minor      bigint NOT NULL CHECK (subtotal_minor >= 0),
    discount_minor      bigint NOT NULL CHECK (discount_minor BETWEEN 0 AND subtotal_minor),
    loyalty_points      bigint NOT NULL DEFAULT 0,
    loyalty_minor       bigint NOT NULL DEFAULT 0, -- worth of the points
    delivery_fee_minor  bigint NOT NULL CHECK (delivery_fee_minor >= 0),
    delivery_fee_tax_ppm bigint, -- tax rate of the delivery fee; null = not taxed
    tax_minor           bigint NOT NULL CHECK (tax_minor >= 0),
    tax_included        boolean NOT NULL,
    taxes               jsonb NOT NULL DEFAULT '[]', -- by rate
    total_minor         bigint NOT NULL CHECK (total_minor <= 9007199254740991),
    currency            text NOT NULL,
    paid_minor          bigint NOT NULL DEFAULT 0 CHECK (paid_minor >= 0),
    refunded_minor      bigint NOT NULL DEFAULT 0 CHECK (refunded_minor BETWEEN 0 AND paid_minor),
    -- part of the refunds that lowered the amount due, decided at each refund
    compensated_minor   bigint NOT NULL DEFAULT 0 CHECK (compensated_minor BETWEEN 0 AND refunded_minor),
    external_id         text NOT NULL DEFAULT '',    -- reference of an integration to its own data
    metadata            jsonb NOT NULL DEFAULT '{}', -- strings by key
    business_date       date NOT NULL,
    version             bigint NOT NULL DEFAULT 1,
    printed_version     bigint,                      -- the latest one of which a slip was printed
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    search_name         text COLLATE "C" GENERATED ALWAYS AS (lower(customer_name)) STORED,
    search_surname      text COLLATE "C"
        GENERATED ALWAYS AS (regexp_replace(lower(customer_name), '^.*\s', '')) STORED,
    search_email        text COLLATE "C" GENERATED ALWAYS AS (lower(customer_email)) STORED,
    search_phone        text COLLATE "C" GENERATED ALWAYS AS (customer_phone) STORED,
    UNIQUE (store_id, number),
    CHECK ((loyalty_points > 0) = (loyalty_minor > 0) AND loyalty_points >= 0 AND loyalty_minor >= 0),
    CHECK (discount_minor + loyalty_minor <= subtotal_minor),
    CHECK (total_minor = subtotal_minor - discount_minor - loyalty_minor + delivery_fee_minor
        + CASE WHEN tax_included THEN 0 ELSE tax_minor END),
    CHECK ((fulfillment_type = 'DELIVERY') = (delivery_address IS NOT NULL)),
    CHECK ((requested_for IS NULL) = (due_at IS NULL))
);
CREATE UNIQUE INDEX orders_by_external_id ON orders (store_id, external_id) WHERE external_id <> '';
CREATE INDEX orders_by_name ON orders (store_id, search_name);
CREATE INDEX orders_by_surname ON orders (store_id, search_surname);
CREATE INDEX orders_by_email ON orders (store_id, search_email);
CREATE INDEX orders_by_phone ON orders (store_id, search_phone);
CREATE INDEX orders_by_update ON orders (store_id, updated_at);
CREATE INDEX orders_due ON orders (store_id, due_at) WHERE due_at IS NOT NULL;
-- An index for each filter of the list, in the order of the list.
CREATE INDEX orders_newest ON orders (store_id, created_at, id);
CREATE INDEX orders_by_customer ON orders (store_id, customer_id, created_at, id);
CREATE INDEX orders_by_status ON orders (store_id, status, created_at, id);
CREATE INDEX orders_by_fulfillment ON orders (store_id, fulfillment_type, created_at, id);
CREATE INDEX orders_by_source ON orders (store_id, source, created_at, id);
CREATE INDEX orders_by_business_date ON orders (store_id, business_date, created_at, id);
CREATE INDEX orders_to_refund ON orders (store_id, created_at, id)
    WHERE paid_minor - refunded_minor > CASE status WHEN 'CANCELLED' THEN 0 ELSE total_minor END;
CALL fence('orders', 'store_id');

-- Snapshots of the ordered products. A line without a product has the product_id ''.
CREATE TABLE order_items (
    order_id         text NOT NULL REFERENCES orders,
    id               text NOT NULL,
    store_id         text NOT NULL REFERENCES stores,
    position         smallint NOT NULL,
    product_id       text NOT NULL,
    product_name     text NOT NULL,
    sku              text NOT NULL DEFAULT '',
    options          jsonb NOT NULL DEFAULT '[]',
    note             text NOT NULL DEFAULT '',
    quantity         bigint NOT NULL CHECK (quantity BETWEEN 1 AND 999),
    unit_price_minor bigint NOT NULL,
    is_priced        boolean NOT NULL DEFAULT false, -- the caller has set the price
    total_minor      bigint NOT NULL CHECK (total_minor = unit_price_minor * quantity),
    discount_minor   bigint NOT NULL CHECK (discount_minor BETWEEN 0 AND total_minor),
    tax_rate_ppm     bigint NOT NULL,
    stock_taken      bigint NOT NULL DEFAULT 0 -- units that were taken from the stock, which a cancellation returns
        CHECK (stock_taken BETWEEN 0 AND quantity),
    business_date    date NOT NULL,            -- of the order
    done_at          timestamptz,              -- when the kitchen ticked it
    PRIMARY KEY (order_id, id),
    CHECK (product_id <> '' OR is_priced)
);
CALL fence('order_items', 'store_id');

-- Changes of orders, with their actors: of the status, or of other members.
CREATE TABLE order_history (
    order_id        text NOT NULL REFERENCES orders,
    store_id        text NOT NULL REFERENCES stores,
    version         bigint NOT NULL, -- version of the order after the change
    from_status     text,            -- null = the order was placed, or other members were changed
    to_status       text,            -- null = other members were changed
    reason          text NOT NULL,   -- reason of a cancellation
    changed_fields  jsonb,           -- names of other members
    item_changes    jsonb,           -- with the items before and after
    before          jsonb,           -- the other members before the change; null = erased
    former_customer text,            -- before a change of the customer
    event_number    bigint,          -- number of the event of such a change in the outbox
    actor_realm     text NOT NULL,   -- '' = the service itself
    actor_id        text NOT NULL,
    event_id        text NOT NULL,
    at              timestamptz NOT NULL,
    PRIMARY KEY (order_id, version),
    CHECK ((to_status IS NULL) = (changed_fields IS NOT NULL) AND (to_status IS NULL) = (item_changes IS NOT NULL))
);
CREATE INDEX order_history_former_customer ON order_history (store_id, former_customer)
    WHERE former_customer IS NOT NULL;
CALL fence('order_history', 'store_id');

-- Orders of API keys in RECEIVED that wait for acceptance. The deadlines are measured with the clock of the database. A
-- row is deleted when the order leaves RECEIVED, or the deadlines are switched off.
CREATE TABLE acceptances (
    order_id    text PRIMARY KEY REFERENCES orders,
    store_id    text NOT NULL REFERENCES stores,
    since       timestamptz NOT NULL, -- start of the deadlines
    next_at     timestamptz NOT NULL, -- time of the next evaluation; infinity = no deadline is left
    reminded_at timestamptz
);
-- For the reconciler: orders whose deadline has passed because their workflow is lost.
CREATE INDEX acceptances_next ON acceptances (next_at, order_id);
-- For order streams: reminders whose notification was lost.
CREATE INDEX acceptances_reminded ON acceptances (store_id, reminded_at) WHERE reminded_at IS NOT NULL;
CALL fence('acceptances', 'store_id');

-- Payments of orders, as reported by the caller. The provider made them.
CREATE TABLE payments (
    id             text PRIMARY KEY,
    store_id       text NOT NULL REFERENCES stores,
    order_id       text NOT NULL REFERENCES orders,
    provider       text NOT NULL CHECK (provider = upper(provider)),
    transaction_id text NOT NULL,
    status         text NOT NULL CHECK (status IN ('SUCCEEDED', 'FAILED')),
    amount_minor   bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991), -- with the tip
    tip_minor      bigint NOT NULL DEFAULT 0 CHECK (tip_minor BETWEEN 0 AND amount_minor),
    currency       text NOT NULL,
    payment_method text NOT NULL,
    channel        text, -- of the order
    card_last4     text NOT NULL,
    error_code     text NOT NULL CHECK ((status = 'FAILED') = (error_code <> '')),
    refunded_minor bigint NOT NULL DEFAULT 0, -- without tips
    refunded_tip   bigint NOT NULL DEFAULT 0, -- in minor units
    order_version  bigint NOT NULL DEFAULT 1, -- of the order when the payment was recorded
    business_date  date NOT NULL, -- business day of the payment, not of the order
    created_at     timestamptz NOT NULL,
    UNIQUE (store_id, provider, transaction_id),
    CHECK (refunded_minor BETWEEN 0 AND CASE status WHEN 'SUCCEEDED' THEN amount_minor - tip_minor ELSE 0 END),
    CHECK (refunded_tip BETWEEN 0 AND CASE status WHEN 'SUCCEEDED' THEN tip_minor ELSE 0 END)
);
CREATE INDEX payments_of_order ON payments (store_id, order_id, created_at, id);
-- An index for each filter of the list, in the order of the list.
CREATE INDEX payments_newest ON payments (store_id, created_at, id);
CREATE INDEX payments_by_status ON payments (store_id, status, created_at, id);
CREATE INDEX payments_by_provider ON payments (store_id, provider, created_at, id);
CREATE INDEX payments_by_day ON payments (store_id, business_date)
    INCLUDE (provider, payment_method, channel, currency, amount_minor, tip_minor) WHERE status = 'SUCCEEDED';
CALL fence('payments', 'store_id');

CREATE TABLE refunds (
    id                 text PRIMARY KEY,
    store_id           text NOT NULL REFERENCES stores,
    payment_id         text NOT NULL REFERENCES payments,
    order_id           text NOT NULL REFERENCES orders,
    provider           text NOT NULL, -- of the payment
    amount_minor       bigint NOT NULL CHECK (amount_minor > 0), -- with the tip
    tip_minor          bigint NOT NULL DEFAULT 0 CHECK (tip_minor BETWEEN 0 AND amount_minor),
    currency           text NOT NULL,
    reason             text NOT NULL,
    provider_refund_id text NOT NULL,
    order_version      bigint NOT NULL DEFAULT 1, -- of the order when the refund was recorded
    business_date      date NOT NULL, -- business day of the refund, not of the order
    created_at         timestamptz NOT NULL,
    UNIQUE (store_id, provider, provider_refund_id)
);
CREATE INDEX refunds_of_payment ON refunds (store_id, payment_id, created_at, id);
CREATE INDEX refunds_of_order ON refunds (store_id, order_id);
CREATE INDEX refunds_by_day ON refunds (store_id, business_date)
    INCLUDE (payment_id, currency, amount_minor, tip_minor, created_at);
CALL fence('refunds', 'store_id');

-- Ledger of loyalty points: the sum of a customer's lines is customers.loyalty_points.
CREATE TABLE loyalty_entries (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    customer_id text NOT NULL REFERENCES customers,
    order_id    text NOT NULL REFERENCES orders,
    refund_id   text UNIQUE REFERENCES refunds,
    kind        text NOT NULL CHECK (kind IN ('EARNED', 'REVERSED', 'RESTORED', 'REDEEMED', 'RETURNED')),
    points      bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    CHECK ((kind = 'REVERSED') = (refund_id IS NOT NULL)),
    CHECK (CASE WHEN kind IN ('REVERSED', 'REDEEMED') THEN points < 0 ELSE points > 0 END)
);
CREATE UNIQUE INDEX loyalty_once ON loyalty_entries (order_id) WHERE kind = 'EARNED';
CREATE INDEX loyalty_of_order ON loyalty_entries (store_id, order_id);
CREATE INDEX loyalty_of_customer ON loyalty_entries (store_id, customer_id, created_at, id);
CALL fence('loyalty_entries', 'store_id');
