REVOKE DELETE ON sessions FROM comanda_system;
DROP INDEX outbox_kept;
DROP INDEX deliveries_dead_letters;
DROP INDEX deliveries_replaying;
ALTER TABLE deliveries DROP COLUMN replay_id;
DROP TABLE replays;
ALTER TABLE subscription_health DROP COLUMN failing_days, DROP COLUMN watched_until, DROP COLUMN watched_since,
    DROP COLUMN watch_at;
