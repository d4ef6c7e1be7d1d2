DROP INDEX products_with_deleted;
ALTER TABLE products DROP COLUMN sold_out_until;
