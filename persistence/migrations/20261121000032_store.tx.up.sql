-- Further settings of a store.
ALTER TABLE stores
    ADD COLUMN seats                integer NOT NULL DEFAULT 50 CHECK (seats BETWEEN 0 AND 100000),
    ADD COLUMN reservation_minutes  integer NOT NULL DEFAULT 120 CHECK (reservation_minutes BETWEEN 15 AND 1440),
    ADD COLUMN booking_lead_minutes integer NOT NULL DEFAULT 0 CHECK (booking_lead_minutes BETWEEN 0 AND 43200),
    ADD COLUMN booking_max_days     integer NOT NULL DEFAULT 90 CHECK (booking_max_days BETWEEN 1 AND 730),
    ADD COLUMN settings_version     bigint NOT NULL DEFAULT 1;

CREATE TABLE reservations (
    id                  text PRIMARY KEY,
    store_id            text NOT NULL REFERENCES stores,
    status              text NOT NULL CHECK (status IN ('PENDING', 'CONFIRMED', 'CANCELLED', 'COMPLETED', 'NO_SHOW')),
    customer_id         text REFERENCES customers, -- null = not a customer of the store
    customer_name       text NOT NULL,
    customer_email      text NOT NULL,
    customer_phone      text NOT NULL,
    party_size          integer NOT NULL CHECK (party_size BETWEEN 1 AND 500),
    start_at            timestamptz NOT NULL,
    end_at              timestamptz NOT NULL CHECK (end_at > start_at AND end_at <= start_at + interval '24 hours'),
    notes               text NOT NULL,
    confirmed_realm     text,
    confirmed_by        text,
    confirmed_at        timestamptz,
    cancellation_reason text NOT NULL DEFAULT '',
    version             bigint NOT NULL DEFAULT 1,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    CHECK ((confirmed_at IS NULL) = (confirmed_by IS NULL) AND (confirmed_at IS NULL) = (confirmed_realm IS NULL))
);
CREATE INDEX reservations_by_start ON reservations (store_id, start_at, id);
CREATE INDEX reservations_by_customer ON reservations (store_id, customer_id, start_at, id)
    WHERE customer_id IS NOT NULL;
-- Reservations that hold seats. None is longer than 24 hours, so those that overlap a time begin within the day before
-- it.
CREATE INDEX reservations_seated ON reservations (store_id, start_at) INCLUDE (end_at, party_size)
    WHERE status IN ('PENDING', 'CONFIRMED');
CALL fence('reservations', 'store_id');

-- Covering indexes for analytics.
ALTER TABLE orders ADD COLUMN item_count bigint CHECK (item_count > 0);
ALTER TABLE order_items ADD COLUMN business_date date;
ALTER TABLE orders NO FORCE ROW LEVEL SECURITY;
ALTER TABLE order_items NO FORCE ROW LEVEL SECURITY;
UPDATE orders o SET item_count = (SELECT sum(i.quantity) FROM order_items i WHERE i.order_id = o.id);
UPDATE order_items i SET business_date = o.business_date FROM orders o WHERE o.id = i.order_id;
ALTER TABLE orders FORCE ROW LEVEL SECURITY;
ALTER TABLE order_items FORCE ROW LEVEL SECURITY;
ALTER TABLE orders ALTER COLUMN item_count SET NOT NULL;
ALTER TABLE order_items ALTER COLUMN business_date SET NOT NULL;

CREATE INDEX orders_by_day ON orders (store_id, business_date)
    INCLUDE (id, customer_id, status, currency, subtotal_minor, discount_minor, tax_minor, delivery_fee_minor,
        item_count, created_at);
CREATE INDEX order_items_by_day ON order_items (store_id, business_date)
    INCLUDE (order_id, product_id, quantity, total_minor, discount_minor);
CREATE INDEX customers_by_time ON customers (store_id, created_at);
