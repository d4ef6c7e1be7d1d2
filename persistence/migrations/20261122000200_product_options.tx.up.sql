-- The whole array is read and replaced with its product, so that a page of the menu remains one query.
ALTER TABLE products
    ADD COLUMN option_groups jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN position bigint NOT NULL DEFAULT 0;
CREATE INDEX products_by_position ON products (store_id, category COLLATE "C", position, id) WHERE deleted_at IS NULL;
