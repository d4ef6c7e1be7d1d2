DROP TABLE subscription_health, subscriptions, event_heads, event_log, outbox;
DROP FUNCTION place_event, event_position;
