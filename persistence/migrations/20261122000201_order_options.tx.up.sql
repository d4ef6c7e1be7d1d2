-- Snapshots of orders. taxes is null in orders of earlier releases, whose items contain the rates.
ALTER TABLE order_items
    ADD COLUMN sku text NOT NULL DEFAULT '',
    ADD COLUMN options jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN taxes jsonb;
