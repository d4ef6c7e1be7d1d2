-- Opening hours, scheduled orders and acceptance: settings of a store. ordering_paused_until may be in the past.
ALTER TABLE stores
    ADD COLUMN opening_hours         jsonb NOT NULL DEFAULT '{}', -- spans by fulfillment type and weekday
    ADD COLUMN closures              jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN prep_minutes          jsonb NOT NULL DEFAULT '{"DELIVERY": 20, "PICKUP": 20, "DINE_IN": 20}',
    ADD COLUMN order_lead_minutes    integer NOT NULL DEFAULT 0 CHECK (order_lead_minutes BETWEEN 0 AND 43200),
    ADD COLUMN order_max_days        integer NOT NULL DEFAULT 14 CHECK (order_max_days BETWEEN 0 AND 365),
    ADD COLUMN remind_after_minutes  integer NOT NULL DEFAULT 0 CHECK (remind_after_minutes BETWEEN 0 AND 1440),
    ADD COLUMN cancel_after_minutes  integer NOT NULL DEFAULT 0 CHECK (cancel_after_minutes BETWEEN 0 AND 1440),
    ADD COLUMN ordering_paused_until timestamptz;
