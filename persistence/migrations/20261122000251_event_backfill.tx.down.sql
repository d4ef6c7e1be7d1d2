TRUNCATE event_log, event_heads;
