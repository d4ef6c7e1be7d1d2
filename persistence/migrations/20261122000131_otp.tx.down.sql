ALTER TABLE users
    DROP COLUMN otp_secret, DROP COLUMN otp_pending_at, DROP COLUMN otp_enabled_at, DROP COLUMN otp_last_step,
    DROP COLUMN recovery_hashes;
