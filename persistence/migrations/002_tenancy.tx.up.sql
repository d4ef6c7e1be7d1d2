-- Tenancy: a website is a customer of the platform and owns stores. A store owns all other tenant data.

CREATE TABLE websites (
    id              text PRIMARY KEY,
    name            text NOT NULL,
    domain          text NOT NULL UNIQUE,
    plan            text NOT NULL CHECK (plan IN ('STARTER', 'GROW', 'PROFESSIONAL', 'ENTERPRISE')),
    plan_managed_by text NOT NULL DEFAULT 'OWNER' -- who changes the plan: OWNERs, or platform administrators only
        CHECK (plan_managed_by IN ('OWNER', 'PLATFORM')),
    suspended_at    timestamptz,
    created_at      timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON websites TO comanda_system;

-- comanda_app, which sees one store, can read nothing of websites except whether one is suspended.
CREATE FUNCTION website_suspended(website text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
    BEGIN ATOMIC SELECT suspended_at IS NOT NULL FROM websites WHERE id = website; END;
REVOKE ALL ON FUNCTION website_suspended(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION website_suspended(text) TO comanda_app;

-- Client ids of the social login providers. Each belongs to one website, whose customers log in with tokens for it.
CREATE TABLE website_client_ids (
    provider   text NOT NULL CHECK (provider IN ('google', 'apple', 'facebook')),
    client_id  text NOT NULL CHECK (client_id <> ''),
    website_id text NOT NULL REFERENCES websites,
    PRIMARY KEY (provider, client_id)
);
CREATE INDEX website_client_ids_of_website ON website_client_ids (website_id, provider);
GRANT SELECT, INSERT, UPDATE, DELETE ON website_client_ids TO comanda_system;

-- Stores with their settings. A sandbox is the twin of a live store for tests. Its data never reaches the live store.
CREATE TABLE stores (
    id                       text PRIMARY KEY,
    website_id               text NOT NULL REFERENCES websites,
    sandbox_of               text UNIQUE REFERENCES stores CHECK (sandbox_of <> id),
    name                     text NOT NULL,              -- that of a sandbox follows its live store
    country_code             text NOT NULL CHECK (country_code ~ '^[A-Z]{2}$'),
    timezone                 text NOT NULL,
    business_day_cutoff_hour smallint NOT NULL DEFAULT 0 CHECK (business_day_cutoff_hour BETWEEN 0 AND 23),
    require_otp              boolean NOT NULL DEFAULT false, -- of a live store, also for its sandbox
    tax_rate_ppm             bigint NOT NULL DEFAULT 0 CHECK (tax_rate_ppm BETWEEN 0 AND 1000000),
    tax_included             boolean NOT NULL DEFAULT false,
    tax_delivery_fee         boolean NOT NULL DEFAULT false,
    delivery_fees            jsonb NOT NULL DEFAULT '{}', -- minor units by currency
    opening_hours            jsonb NOT NULL DEFAULT '{}', -- spans by fulfillment type and weekday
    closures                 jsonb NOT NULL DEFAULT '[]',
    prep_minutes             jsonb NOT NULL DEFAULT '{"DELIVERY": 20, "PICKUP": 20, "DINE_IN": 20}',
    order_lead_minutes       integer NOT NULL DEFAULT 0 CHECK (order_lead_minutes BETWEEN 0 AND 43200),
    order_max_days           integer NOT NULL DEFAULT 14 CHECK (order_max_days BETWEEN 0 AND 365),
    ordering_paused_until    timestamptz,                -- may be in the past
    remind_after_minutes     integer NOT NULL DEFAULT 0 CHECK (remind_after_minutes BETWEEN 0 AND 1440),
    cancel_after_minutes     integer NOT NULL DEFAULT 0 CHECK (cancel_after_minutes BETWEEN 0 AND 1440),
    lower_totals             text NOT NULL DEFAULT 'STAFF' CHECK (lower_totals IN ('STAFF', 'MANAGER')), -- least role
    staff_may                text[] NOT NULL DEFAULT '{}' -- rights beyond those of the role STAFF
        CHECK (staff_may <@ ARRAY['SELL_OUT', 'FIND_CUSTOMERS']),
    loyalty_minor_per_point  jsonb NOT NULL DEFAULT '{}', -- worth of a point in minor units, by currency
    loyalty_min_points       bigint NOT NULL DEFAULT 0 CHECK (loyalty_min_points >= 0),
    seats                    integer NOT NULL DEFAULT 50 CHECK (seats BETWEEN 0 AND 100000),
    reservation_minutes      integer NOT NULL DEFAULT 120 CHECK (reservation_minutes BETWEEN 15 AND 1440),
    booking_lead_minutes     integer NOT NULL DEFAULT 0 CHECK (booking_lead_minutes BETWEEN 0 AND 43200),
    booking_max_days         integer NOT NULL DEFAULT 90 CHECK (booking_max_days BETWEEN 1 AND 730),
    settings_version         bigint NOT NULL DEFAULT 1,
    created_at               timestamptz NOT NULL
);
CREATE INDEX stores_by_website ON stores (website_id);
CALL fence('stores', 'id');

-- Returns the queue of a store: its website (by its id) or, for a sandbox, that of all sandboxes of the website. Queues
-- take turns wherever work waits. The planner replaces queue_of by its expression; store_queue takes 30 µs.
CREATE FUNCTION queue_of(store stores) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT store.website_id || CASE WHEN store.sandbox_of IS NULL THEN '' ELSE '/test' END
$$;
CREATE FUNCTION store_queue(store text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT queue_of(s) FROM stores s WHERE s.id = store
$$;
-- Returns the queue of a store's deliveries, whose starts its plan limits: the queue of the store and, for a sandbox, a
-- colon and the store (by its id).
CREATE FUNCTION plan_queue(queue text, store text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN queue LIKE '%/test' THEN queue || ':' || store ELSE queue END
$$;

CREATE TABLE store_views (
    id         text PRIMARY KEY,
    store_id   text NOT NULL REFERENCES stores,
    code       text NOT NULL,
    locale     text NOT NULL,
    currency   text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    is_default boolean NOT NULL,
    UNIQUE (store_id, code)
);
CREATE UNIQUE INDEX store_views_default ON store_views (store_id) WHERE is_default;
CALL fence('store_views', 'store_id');
