-- A product that is sold out until a time. A job clears the column when the time has passed.
ALTER TABLE products ADD COLUMN sold_out_until timestamptz;

-- The search for lost jobs.
CREATE INDEX products_sold_out ON products (sold_out_until) WHERE sold_out_until IS NOT NULL AND deleted_at IS NULL;

-- The list that includes deleted products.
CREATE INDEX products_with_deleted ON products (store_id, created_at, id);
