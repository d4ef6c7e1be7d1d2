CREATE INDEX subscriptions_rotating ON subscriptions (previous_secret_until) WHERE previous_secret_until IS NOT NULL;
