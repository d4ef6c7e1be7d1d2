ALTER TABLE outbox DROP COLUMN subject;
