-- Whether members need one-time passwords to use the store. The value of a live store also applies to its sandbox,
-- whose own value has no meaning.
ALTER TABLE stores ADD COLUMN require_otp boolean NOT NULL DEFAULT false;
