-- Deliveries that have started in a window, with a slot in this window or in an earlier one. If more deliveries start
-- than have slots in the window, they take slots of the window too.
ALTER TABLE plan_windows
    ADD started         bigint NOT NULL DEFAULT 0, -- including replays
    ADD replays_started bigint NOT NULL DEFAULT 0;
