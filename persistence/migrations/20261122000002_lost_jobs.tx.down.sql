DROP INDEX mails_queued, replays_running, subscriptions_deleted;
