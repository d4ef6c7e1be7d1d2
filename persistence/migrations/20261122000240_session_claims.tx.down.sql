-- The owner, who need not be a superuser, sees no rows while row-level security is forced.
ALTER TABLE customer_sessions NO FORCE ROW LEVEL SECURITY;
UPDATE customer_sessions SET end_reason = NULL WHERE end_reason = 'claim';
ALTER TABLE customer_sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE customer_sessions
    DROP CONSTRAINT customer_sessions_end_reason_check,
    ADD CONSTRAINT customer_sessions_end_reason_check
        CHECK (end_reason IN ('logout', 'reuse', 'ended', 'password', 'admin'));
