ALTER TABLE reservations DROP COLUMN erased_at;
