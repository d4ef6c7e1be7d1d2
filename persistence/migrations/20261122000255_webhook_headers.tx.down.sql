ALTER TABLE subscriptions DROP COLUMN headers, DROP COLUMN header_names;
