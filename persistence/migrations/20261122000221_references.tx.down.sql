ALTER TABLE reservations DROP COLUMN external_id, DROP COLUMN metadata;
ALTER TABLE orders DROP COLUMN external_id, DROP COLUMN metadata;
ALTER TABLE customers DROP COLUMN external_id, DROP COLUMN metadata;
ALTER TABLE products DROP COLUMN external_id, DROP COLUMN metadata;
