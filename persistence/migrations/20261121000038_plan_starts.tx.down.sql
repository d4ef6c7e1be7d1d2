ALTER TABLE plan_windows DROP started, DROP replays_started;
