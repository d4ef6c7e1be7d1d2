-- Columns for searches, as in orders.
ALTER TABLE reservations
    ADD COLUMN search_name text COLLATE "C" GENERATED ALWAYS AS (lower(customer_name)) STORED,
    ADD COLUMN search_surname text COLLATE "C"
        GENERATED ALWAYS AS (regexp_replace(lower(customer_name), '^.*\s', '')) STORED,
    ADD COLUMN search_email text COLLATE "C" GENERATED ALWAYS AS (lower(customer_email)) STORED,
    ADD COLUMN search_phone text COLLATE "C" GENERATED ALWAYS AS (customer_phone) STORED;
CREATE INDEX reservations_by_name ON reservations (store_id, search_name);
CREATE INDEX reservations_by_surname ON reservations (store_id, search_surname);
CREATE INDEX reservations_by_email ON reservations (store_id, search_email);
CREATE INDEX reservations_by_phone ON reservations (store_id, search_phone);
