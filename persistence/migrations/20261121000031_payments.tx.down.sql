DROP TABLE addresses, loyalty_entries, refunds, payments;
DROP INDEX customers_by_name, customers_by_surname, customers_by_search_email, customers_by_phone, customers_newest,
    customers_by_kind, customers_by_update;
ALTER TABLE customers
    DROP COLUMN version, DROP CONSTRAINT points_not_negative,
    DROP COLUMN search_name, DROP COLUMN search_surname, DROP COLUMN search_email, DROP COLUMN search_phone;
ALTER TABLE idempotency_keys DROP COLUMN existed;
