ALTER TABLE replays ADD delivery_reason text; -- reason of the deliveries to replay; null = all
