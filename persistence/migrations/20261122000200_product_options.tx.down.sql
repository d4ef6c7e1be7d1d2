ALTER TABLE products DROP COLUMN position, DROP COLUMN option_groups; -- drops the index too
