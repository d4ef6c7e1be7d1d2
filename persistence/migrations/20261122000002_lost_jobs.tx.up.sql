-- For the reconciler: unfinished work of jobs whose workflows may be lost.
CREATE INDEX subscriptions_deleted ON subscriptions (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX replays_running ON replays (created_at) WHERE status = 'running';
CREATE INDEX mails_queued ON mails (lease_until) WHERE status = 'queued';
