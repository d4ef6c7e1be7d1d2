-- A further reason for the end of a customer's session: the owner of the email claimed the account.
ALTER TABLE customer_sessions
    DROP CONSTRAINT customer_sessions_end_reason_check,
    ADD CONSTRAINT customer_sessions_end_reason_check
        CHECK (end_reason IN ('logout', 'reuse', 'ended', 'password', 'admin', 'claim'));
