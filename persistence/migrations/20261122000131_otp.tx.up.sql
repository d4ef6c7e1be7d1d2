-- One-time passwords of users. The secret is pending until the first code confirms it.
ALTER TABLE users
    ADD COLUMN otp_secret      bytea,       -- sealed for the user's id; null = none
    ADD COLUMN otp_pending_at  timestamptz, -- start of a setup that no code has confirmed
    ADD COLUMN otp_enabled_at  timestamptz,
    ADD COLUMN otp_last_step   bigint NOT NULL DEFAULT 0, -- of the newest accepted code; codes up to it are used up
    ADD COLUMN recovery_hashes bytea[] NOT NULL DEFAULT '{}', -- SHA-256 of the unused recovery codes
    ADD CONSTRAINT otp_has_a_secret CHECK ((otp_secret IS NULL) = (otp_pending_at IS NULL AND otp_enabled_at IS NULL)),
    ADD CONSTRAINT otp_is_pending_or_on CHECK (otp_pending_at IS NULL OR otp_enabled_at IS NULL);
