ALTER TABLE replays ADD delivery_reason text; -- why they had ended so; null = whyever
