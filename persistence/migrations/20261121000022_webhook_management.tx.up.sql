-- The secret before the present one, good for receivers until then; both null otherwise.
ALTER TABLE subscriptions
    ADD COLUMN previous_secret       bytea, -- sealed
    ADD COLUMN previous_secret_until timestamptz;

-- What was sent, and tests: an attempt without a delivery, of an event that is nobody
-- else's.
ALTER TABLE attempts
    ADD COLUMN request_url     text NOT NULL DEFAULT '',
    ADD COLUMN request_headers jsonb,
    ALTER COLUMN delivery_id DROP NOT NULL,
    ADD COLUMN is_test boolean NOT NULL GENERATED ALWAYS AS (delivery_id IS NULL) STORED;
CREATE UNIQUE INDEX attempts_of_tests ON attempts (event_id) WHERE delivery_id IS NULL;

-- With all that the counts and the statistics of a subscription read.
DROP INDEX attempts_of_subscription;
CREATE INDEX attempts_of_subscription ON attempts (subscription_id, attempted_at, id)
    INCLUDE (store_id, status, response_time_ms, is_test);

-- What is left of failed deliveries of a subscription while they can still be sent.
CREATE INDEX deliveries_strayed ON deliveries (subscription_id, status, id) WHERE status IN ('retrying', 'dead_letter');
