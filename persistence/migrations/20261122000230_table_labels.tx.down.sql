DROP INDEX reservations_by_update;
ALTER TABLE orders DROP COLUMN table_label;
ALTER TABLE reservations DROP COLUMN table_label;
