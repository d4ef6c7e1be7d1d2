-- References of integrations to their own data (contract §5, External references).
ALTER TABLE products
    ADD COLUMN external_id text NOT NULL DEFAULT '',
    ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}'; -- strings by key
ALTER TABLE customers
    ADD COLUMN external_id text NOT NULL DEFAULT '',
    ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}'; -- strings by key
ALTER TABLE orders
    ADD COLUMN external_id text NOT NULL DEFAULT '',
    ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}'; -- strings by key
ALTER TABLE reservations
    ADD COLUMN external_id text NOT NULL DEFAULT '',
    ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}'; -- strings by key
CREATE UNIQUE INDEX products_by_external_id ON products (store_id, external_id)
    WHERE external_id <> '' AND deleted_at IS NULL;
CREATE UNIQUE INDEX customers_by_external_id ON customers (store_id, external_id) WHERE external_id <> '';
CREATE UNIQUE INDEX orders_by_external_id ON orders (store_id, external_id) WHERE external_id <> '';
CREATE UNIQUE INDEX reservations_by_external_id ON reservations (store_id, external_id) WHERE external_id <> '';
