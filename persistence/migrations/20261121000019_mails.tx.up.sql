-- Mails that a transaction has enqueued, each to one recipient. Address and text are not stored: the worker determines
-- them when it sends the mail.
CREATE TABLE mails (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    kind        text NOT NULL CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated')),
    subject     text NOT NULL,         -- id of its topic, such as an invitation
    recipient   text REFERENCES users, -- null = the invited person
    details     jsonb NOT NULL,
    secret      bytea,                 -- encrypted token of an invitation, until the mail has ended
    status      text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'sent', 'obsolete', 'failed')),
    reason      text NOT NULL DEFAULT '',
    lease_until timestamptz NOT NULL,  -- end of the lease of a worker
    created_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    CHECK ((status = 'queued') = (ended_at IS NULL)),
    CHECK (secret IS NULL OR ended_at IS NULL)
);
CALL fence('mails', 'store_id');
