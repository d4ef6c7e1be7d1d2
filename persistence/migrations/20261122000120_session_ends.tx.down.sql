UPDATE sessions SET end_reason = NULL WHERE end_reason IN ('ended', 'password', 'admin');
ALTER TABLE sessions
    DROP COLUMN address,
    DROP COLUMN user_agent,
    DROP CONSTRAINT sessions_end_reason_check,
    ADD CONSTRAINT sessions_end_reason_check CHECK (end_reason IN ('logout', 'reuse'));
-- The owner, who need not be a superuser, sees no rows while row-level security is forced.
ALTER TABLE customer_sessions NO FORCE ROW LEVEL SECURITY;
UPDATE customer_sessions SET end_reason = NULL WHERE end_reason IN ('ended', 'password', 'admin');
ALTER TABLE customer_sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE customer_sessions
    DROP COLUMN address,
    DROP COLUMN user_agent,
    DROP CONSTRAINT customer_sessions_end_reason_check,
    ADD CONSTRAINT customer_sessions_end_reason_check CHECK (end_reason IN ('logout', 'reuse'));
