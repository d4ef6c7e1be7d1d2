-- Bulk replays of events without a delivery to the webhook. Their cursor is a position.
ALTER TABLE replays DROP CONSTRAINT replays_delivery_status_check,
    ADD CONSTRAINT replays_delivery_status_check
        CHECK (delivery_status IN ('delivered', 'dead_letter', 'cancelled', 'missed'));
