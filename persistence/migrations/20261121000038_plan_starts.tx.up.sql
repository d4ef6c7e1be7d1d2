-- What has started in a window, be its slot in it or in one that passed before it could
-- start. Where more start than have slots in it, they have taken slots of it, too.
ALTER TABLE plan_windows
    ADD started         bigint NOT NULL DEFAULT 0, -- those of replays included
    ADD replays_started bigint NOT NULL DEFAULT 0;
