-- The menu of a store.
CREATE TABLE products (
    id             text PRIMARY KEY,
    store_id       text NOT NULL REFERENCES stores,
    sku            text NOT NULL DEFAULT '',
    name           text NOT NULL,
    description    text NOT NULL DEFAULT '',
    category       text NOT NULL DEFAULT '',
    position       bigint NOT NULL DEFAULT 0,     -- in its category
    image_url      text NOT NULL DEFAULT '',
    price_minor    bigint NOT NULL CHECK (price_minor BETWEEN 0 AND 1000000000000),
    currency       text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    prices         jsonb NOT NULL DEFAULT '{}',   -- minor units by currency
    tax_rate_ppm   bigint CHECK (tax_rate_ppm BETWEEN 0 AND 1000000),
    translations   jsonb NOT NULL DEFAULT '{}',   -- {name, description} by locale
    option_groups  jsonb NOT NULL DEFAULT '[]',   -- read with the product, so that a page of the menu is one query
    is_available   boolean NOT NULL DEFAULT true,
    stock_quantity bigint CHECK (stock_quantity >= 0),
    sold_out_until timestamptz,                   -- a job clears it when the time has passed
    external_id    text NOT NULL DEFAULT '',      -- reference of an integration to its own data
    metadata       jsonb NOT NULL DEFAULT '{}',   -- strings by key
    version        bigint NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    deleted_at     timestamptz
);
CREATE UNIQUE INDEX products_by_sku ON products (store_id, sku) WHERE sku <> '' AND deleted_at IS NULL;
CREATE UNIQUE INDEX products_by_external_id ON products (store_id, external_id)
    WHERE external_id <> '' AND deleted_at IS NULL;
CREATE INDEX products_newest ON products (store_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX products_with_deleted ON products (store_id, created_at, id);
CREATE INDEX products_by_position ON products (store_id, category COLLATE "C", position, id) WHERE deleted_at IS NULL;
-- For the reconciler: products whose job may be lost.
CREATE INDEX products_sold_out ON products (sold_out_until, id) WHERE sold_out_until IS NOT NULL AND deleted_at IS NULL;
CALL fence('products', 'store_id');
