ALTER TABLE orders DROP COLUMN requested_for, DROP COLUMN promised_at, DROP COLUMN due_at;
