ALTER TABLE sessions
    ADD rotated_at timestamptz,  -- when refresh_counter last went up
    ADD end_reason text CHECK (end_reason IN ('logout', 'reuse')),
    ADD CHECK (end_reason IS NULL OR ended_at IS NOT NULL);
