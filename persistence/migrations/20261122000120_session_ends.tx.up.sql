-- Where a session began, and further reasons for its end: its user ended it, changed the password, or was disabled by
-- an administrator.
ALTER TABLE sessions
    ADD address text NOT NULL DEFAULT '',    -- of the client at login
    ADD user_agent text NOT NULL DEFAULT '', -- of the client at login, at most 256 characters
    DROP CONSTRAINT sessions_end_reason_check,
    ADD CONSTRAINT sessions_end_reason_check CHECK (end_reason IN ('logout', 'reuse', 'ended', 'password', 'admin'));
ALTER TABLE customer_sessions
    ADD address text NOT NULL DEFAULT '',
    ADD user_agent text NOT NULL DEFAULT '',
    DROP CONSTRAINT customer_sessions_end_reason_check,
    ADD CONSTRAINT customer_sessions_end_reason_check
        CHECK (end_reason IN ('logout', 'reuse', 'ended', 'password', 'admin'));
