ALTER TABLE reservations ADD COLUMN erased_at timestamptz; -- the personal data was replaced
