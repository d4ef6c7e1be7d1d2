DROP TABLE subscription_health, subscriptions, event_heads, event_log, outbox;
DROP FUNCTION event_position;
