DROP TABLE mails, jobs, replay_items, replays, plan_windows;
DROP FUNCTION lock_plan, plan_lock;
DROP VIEW plan_queues;
DROP TABLE attempts, turns, deliveries;
DROP FUNCTION settle_turns, settle_queued, settle_changed;
