-- Mails that a transaction has ordered, each to one recipient. No address and no text is
-- kept: both are made when a mail is sent.
CREATE TABLE mails (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    kind        text NOT NULL CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated')),
    subject     text NOT NULL,         -- the id of what it is about
    recipient   text REFERENCES users, -- null: whom the invitation names
    details     jsonb NOT NULL,
    secret      bytea,                 -- sealed; of an invitation, until the mail has ended
    status      text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'sent', 'obsolete', 'failed')),
    reason      text NOT NULL DEFAULT '',
    lease_until timestamptz NOT NULL,  -- some worker is sending it until then
    created_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    CHECK ((status = 'queued') = (ended_at IS NULL)),
    CHECK (secret IS NULL OR ended_at IS NULL)
);
CALL fence('mails', 'store_id');
