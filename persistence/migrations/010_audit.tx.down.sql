DROP FUNCTION take_rate_limits, rate_limit_wait;
DROP TABLE rate_limits, open_streams, platform_idempotency_keys, idempotency_keys;
DROP FUNCTION erase_customer_audit, erase_audit;
DROP TABLE platform_audit, audit;
DROP FUNCTION refuse_change;
