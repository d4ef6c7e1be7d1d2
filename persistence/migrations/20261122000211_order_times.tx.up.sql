-- When an order is wanted, promised and to be prepared. Orders of earlier releases have no times. due_at is null for
-- an order as soon as possible.
ALTER TABLE orders
    ADD COLUMN requested_for timestamptz,
    ADD COLUMN promised_at   timestamptz,
    ADD COLUMN due_at        timestamptz,
    ADD CHECK ((requested_for IS NULL) = (due_at IS NULL));
CREATE INDEX orders_due ON orders (store_id, due_at) WHERE due_at IS NOT NULL;
