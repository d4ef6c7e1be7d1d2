DROP FUNCTION take_plan_slots(text, bigint, bigint, boolean, timestamptz, timestamptz, interval, timestamptz);
DROP FUNCTION plan_lock(text);
DROP VIEW plan_queues;
DROP INDEX deliveries_waiting;
DROP TABLE plan_moves, plan_windows;
