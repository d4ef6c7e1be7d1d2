ALTER TABLE reservations ADD COLUMN table_label text NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN table_label text NOT NULL DEFAULT '';
CREATE INDEX reservations_by_update ON reservations (store_id, updated_at);
