ALTER TABLE websites DROP COLUMN plan_managed_by;
