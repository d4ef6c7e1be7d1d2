DROP TABLE attempts, deliveries, subscription_health, subscriptions, outbox;
