-- Reservations. Searches compare the columns search_* by bytes, see customers.
CREATE TABLE reservations (
    id                  text PRIMARY KEY,
    store_id            text NOT NULL REFERENCES stores,
    status              text NOT NULL CHECK (status IN ('PENDING', 'CONFIRMED', 'CANCELLED', 'COMPLETED', 'NO_SHOW')),
    cancellation_reason text NOT NULL DEFAULT '',
    customer_id         text REFERENCES customers, -- null = not a customer of the store
    customer_name       text NOT NULL,
    customer_email      text NOT NULL,
    customer_phone      text NOT NULL,
    party_size          integer NOT NULL CHECK (party_size BETWEEN 1 AND 500),
    table_label         text NOT NULL DEFAULT '',
    start_at            timestamptz NOT NULL,
    end_at              timestamptz NOT NULL CHECK (end_at > start_at AND end_at <= start_at + interval '24 hours'),
    notes               text NOT NULL,
    confirmed_realm     text,
    confirmed_by        text,
    confirmed_at        timestamptz,
    external_id         text NOT NULL DEFAULT '',    -- reference of an integration to its own data
    metadata            jsonb NOT NULL DEFAULT '{}', -- strings by key
    version             bigint NOT NULL DEFAULT 1,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    erased_at           timestamptz,                 -- the personal data was replaced
    search_name         text COLLATE "C" GENERATED ALWAYS AS (lower(customer_name)) STORED,
    search_surname      text COLLATE "C"
        GENERATED ALWAYS AS (regexp_replace(lower(customer_name), '^.*\s', '')) STORED,
    search_email        text COLLATE "C" GENERATED ALWAYS AS (lower(customer_email)) STORED,
    search_phone        text COLLATE "C" GENERATED ALWAYS AS (customer_phone) STORED,
    CHECK ((confirmed_at IS NULL) = (confirmed_by IS NULL) AND (confirmed_at IS NULL) = (confirmed_realm IS NULL))
);
CREATE UNIQUE INDEX reservations_by_external_id ON reservations (store_id, external_id) WHERE external_id <> '';
CREATE INDEX reservations_by_name ON reservations (store_id, search_name);
CREATE INDEX reservations_by_surname ON reservations (store_id, search_surname);
CREATE INDEX reservations_by_email ON reservations (store_id, search_email);
CREATE INDEX reservations_by_phone ON reservations (store_id, search_phone);
CREATE INDEX reservations_by_start ON reservations (store_id, start_at, id);
CREATE INDEX reservations_by_customer ON reservations (store_id, customer_id, start_at, id)
    WHERE customer_id IS NOT NULL;
CREATE INDEX reservations_by_update ON reservations (store_id, updated_at);
-- Reservations that hold seats. None is longer than 24 hours, so those that overlap a time begin within the day before
-- it.
CREATE INDEX reservations_seated ON reservations (store_id, start_at) INCLUDE (end_at, party_size)
    WHERE status IN ('PENDING', 'CONFIRMED');
CALL fence('reservations', 'store_id');
