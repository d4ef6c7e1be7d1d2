ALTER TABLE sessions
    ADD rotated_at timestamptz,  -- time of the last refresh
    ADD end_reason text CHECK (end_reason IN ('logout', 'reuse')),
    ADD CHECK (end_reason IS NULL OR ended_at IS NOT NULL);
