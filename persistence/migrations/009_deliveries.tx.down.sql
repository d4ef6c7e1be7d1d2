DROP TABLE mails, jobs, replays, plan_windows;
DROP FUNCTION plan_lock;
DROP VIEW plan_queues;
DROP TABLE attempts, deliveries;
