DROP TABLE platform_idempotency_keys;
