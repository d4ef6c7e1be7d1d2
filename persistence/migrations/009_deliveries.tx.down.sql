DROP TABLE mails, jobs, replay_items, replays, plan_windows;
DROP FUNCTION plan_lock;
DROP VIEW plan_queues;
DROP TABLE attempts, turns, deliveries;
DROP FUNCTION settle_turns, settle_queued, settle_changed;
