DROP FUNCTION take_rate_limits(bytea[], int[], interval);
DROP FUNCTION rate_limit_wait(bytea[], int[], interval, timestamptz);
DROP TABLE rate_limits;
