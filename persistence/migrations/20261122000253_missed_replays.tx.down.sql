ALTER TABLE replays NO FORCE ROW LEVEL SECURITY;
DELETE FROM replays WHERE delivery_status = 'missed';
ALTER TABLE replays FORCE ROW LEVEL SECURITY;
ALTER TABLE replays DROP CONSTRAINT replays_delivery_status_check,
    ADD CONSTRAINT replays_delivery_status_check
        CHECK (delivery_status IN ('delivered', 'dead_letter', 'cancelled'));
