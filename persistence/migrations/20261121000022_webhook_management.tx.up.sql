-- The previous secret and the time until which it is valid. Both are null if there is none.
ALTER TABLE subscriptions
    ADD COLUMN previous_secret       bytea, -- encrypted
    ADD COLUMN previous_secret_until timestamptz;

-- The request of each attempt. The attempt of a test has no delivery, and its event has no other attempts.
ALTER TABLE attempts
    ADD COLUMN request_url     text NOT NULL DEFAULT '',
    ADD COLUMN request_headers jsonb,
    ALTER COLUMN delivery_id DROP NOT NULL,
    ADD COLUMN is_test boolean NOT NULL GENERATED ALWAYS AS (delivery_id IS NULL) STORED;
CREATE UNIQUE INDEX attempts_of_tests ON attempts (event_id) WHERE delivery_id IS NULL;

-- Covers the counts and the statistics of a subscription.
DROP INDEX attempts_of_subscription;
CREATE INDEX attempts_of_subscription ON attempts (subscription_id, attempted_at, id)
    INCLUDE (store_id, status, response_time_ms, is_test);

-- Failed deliveries of a subscription that can still be delivered.
CREATE INDEX deliveries_strayed ON deliveries (subscription_id, status, id) WHERE status IN ('retrying', 'dead_letter');
