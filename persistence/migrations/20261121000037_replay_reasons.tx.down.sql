ALTER TABLE replays DROP delivery_reason;
