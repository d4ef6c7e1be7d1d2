-- Further headers of a webhook's requests: a sealed JSON object of name to value, and the names that clients see. The
-- previous release sends no further headers.
ALTER TABLE subscriptions
    ADD COLUMN headers bytea,
    ADD COLUMN header_names text[] NOT NULL DEFAULT '{}';
