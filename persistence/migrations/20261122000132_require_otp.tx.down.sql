ALTER TABLE stores DROP COLUMN require_otp;
