DROP TABLE subscription_health, subscriptions, event_heads, event_log, undispatched, outbox;
DROP FUNCTION selects, event_position;
