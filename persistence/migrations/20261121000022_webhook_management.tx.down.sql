DROP INDEX deliveries_strayed;
DELETE FROM attempts WHERE delivery_id IS NULL;
DROP INDEX attempts_of_subscription;
ALTER TABLE attempts DROP COLUMN is_test, DROP COLUMN request_headers, DROP COLUMN request_url,
    ALTER COLUMN delivery_id SET NOT NULL;
CREATE INDEX attempts_of_subscription ON attempts (subscription_id, attempted_at, id);
ALTER TABLE subscriptions DROP COLUMN previous_secret_until, DROP COLUMN previous_secret;
