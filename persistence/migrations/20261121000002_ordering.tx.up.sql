CREATE TABLE products (
    id             text PRIMARY KEY,
    store_id       text NOT NULL REFERENCES stores,
    sku            text NOT NULL DEFAULT '',
    name           text NOT NULL,
    description    text NOT NULL DEFAULT '',
    category       text NOT NULL DEFAULT '',
    image_url      text NOT NULL DEFAULT '',
    price_minor    bigint NOT NULL CHECK (price_minor BETWEEN 0 AND 1000000000000),
    currency       text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    prices         jsonb NOT NULL DEFAULT '{}',   -- minor units by currency
    translations   jsonb NOT NULL DEFAULT '{}',   -- {name, description} by locale
    tax_rate_ppm   bigint CHECK (tax_rate_ppm BETWEEN 0 AND 1000000),
    is_available   boolean NOT NULL DEFAULT true,
    stock_quantity bigint CHECK (stock_quantity >= 0),
    version        bigint NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    deleted_at     timestamptz
);
CREATE INDEX products_newest ON products (store_id, created_at, id) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX products_by_sku ON products (store_id, sku) WHERE sku <> '' AND deleted_at IS NULL;
CALL fence('products', 'store_id');

-- Customers of a store. A guest checkout creates or reuses a row of kind 'guest', and never changes a registered
-- customer with the same email.
CREATE TABLE customers (
    id             text PRIMARY KEY,
    store_id       text NOT NULL REFERENCES stores,
    kind           text NOT NULL CHECK (kind IN ('guest', 'registered')),
    email          text NOT NULL DEFAULT '',
    first_name     text NOT NULL DEFAULT '',
    last_name      text NOT NULL DEFAULT '',
    phone          text NOT NULL DEFAULT '',
    loyalty_points bigint NOT NULL DEFAULT 0,
    total_orders   bigint NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL
);
CREATE UNIQUE INDEX customers_by_email ON customers (store_id, kind, lower(email)) WHERE email <> '';
CREATE UNIQUE INDEX guests_by_phone ON customers (store_id, phone) WHERE kind = 'guest' AND email = '' AND phone <> '';
CALL fence('customers', 'store_id');

-- The last order number of a store. Each order locks it until the commit, so that the numbers have no gaps.
CREATE TABLE order_numbers (
    store_id text PRIMARY KEY REFERENCES stores,
    last     bigint NOT NULL
);
CALL fence('order_numbers', 'store_id');

CREATE TABLE orders (
    id                  text PRIMARY KEY,
    store_id            text NOT NULL REFERENCES stores,
    number              bigint NOT NULL,
    store_view_id       text NOT NULL,
    status              text NOT NULL
        CHECK (status IN ('RECEIVED', 'CONFIRMED', 'PREPARING', 'READY', 'OUT_FOR_DELIVERY', 'COMPLETED', 'CANCELLED')),
    previous_status     text,
    fulfillment_type    text NOT NULL CHECK (fulfillment_type IN ('DELIVERY', 'PICKUP', 'DINE_IN')),
    source              text NOT NULL CHECK (source IN ('WEB', 'MOBILE', 'POS', 'PHONE', 'API')),
    customer_id         text NOT NULL REFERENCES customers,
    customer_name       text NOT NULL,
    customer_email      text NOT NULL,
    customer_phone      text NOT NULL,
    subtotal_minor      bigint NOT NULL CHECK (subtotal_minor >= 0),
    discount_minor      bigint NOT NULL CHECK (discount_minor BETWEEN 0 AND subtotal_minor),
    delivery_fee_minor  bigint NOT NULL CHECK (delivery_fee_minor >= 0),
    tax_minor           bigint NOT NULL CHECK (tax_minor >= 0),
    tax_included        boolean NOT NULL,
    total_minor         bigint NOT NULL CHECK (total_minor <= 9007199254740991),
    currency            text NOT NULL,
    paid_minor          bigint NOT NULL DEFAULT 0 CHECK (paid_minor >= 0),
    refunded_minor      bigint NOT NULL DEFAULT 0 CHECK (refunded_minor BETWEEN 0 AND paid_minor),
    note                text NOT NULL,
    delivery_address    jsonb,
    cancellation_reason text NOT NULL DEFAULT '',
    business_date       date NOT NULL,
    version             bigint NOT NULL DEFAULT 1,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    UNIQUE (store_id, number),
    CHECK (total_minor = subtotal_minor - discount_minor + delivery_fee_minor
        + CASE WHEN tax_included THEN 0 ELSE tax_minor END),
    CHECK ((fulfillment_type = 'DELIVERY') = (delivery_address IS NOT NULL))
);
CREATE INDEX orders_newest ON orders (store_id, created_at, id);
CREATE INDEX orders_by_customer ON orders (store_id, customer_id, created_at, id);
CALL fence('orders', 'store_id');

CREATE TABLE order_items (
    order_id         text NOT NULL REFERENCES orders,
    store_id         text NOT NULL REFERENCES stores,
    position         smallint NOT NULL,
    product_id       text NOT NULL,
    product_name     text NOT NULL,
    quantity         bigint NOT NULL CHECK (quantity BETWEEN 1 AND 999),
    unit_price_minor bigint NOT NULL,
    total_minor      bigint NOT NULL CHECK (total_minor = unit_price_minor * quantity),
    discount_minor   bigint NOT NULL CHECK (discount_minor BETWEEN 0 AND total_minor),
    tax_rate_ppm     bigint NOT NULL,
    PRIMARY KEY (order_id, position)
);
CALL fence('order_items', 'store_id');

-- Requests with an Idempotency-Key and the objects that they created, each written with its effect.
CREATE TABLE idempotency_keys (
    store_id   text NOT NULL REFERENCES stores,
    credential text NOT NULL,  -- of the caller
    route      text NOT NULL,  -- method and path
    key        text NOT NULL,
    body_hash  bytea NOT NULL,
    response   bytea NOT NULL, -- the created object as JSON, without values that are shown once
    created_at timestamptz NOT NULL,
    PRIMARY KEY (store_id, credential, route, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
CALL fence('idempotency_keys', 'store_id');
