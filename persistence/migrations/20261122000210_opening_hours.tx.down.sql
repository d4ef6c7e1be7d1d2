ALTER TABLE stores DROP COLUMN opening_hours, DROP COLUMN closures, DROP COLUMN prep_minutes,
    DROP COLUMN order_lead_minutes, DROP COLUMN order_max_days, DROP COLUMN remind_after_minutes,
    DROP COLUMN cancel_after_minutes, DROP COLUMN ordering_paused_until;
