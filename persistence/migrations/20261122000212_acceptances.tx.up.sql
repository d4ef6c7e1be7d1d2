-- Orders of API keys in RECEIVED that wait for acceptance. The deadlines are measured with the clock of the database. A
-- row is deleted when the order leaves RECEIVED, or the deadlines are switched off.
CREATE TABLE acceptances (
    order_id    text PRIMARY KEY REFERENCES orders,
    store_id    text NOT NULL REFERENCES stores,
    since       timestamptz NOT NULL, -- start of the deadlines
    next_at     timestamptz NOT NULL, -- time of the next evaluation; infinity = no deadline is left
    reminded_at timestamptz
);
-- For the reconciler: orders whose deadline has passed because their workflow is lost.
CREATE INDEX acceptances_next ON acceptances (next_at);
-- For order streams: reminders whose notification was lost.
CREATE INDEX acceptances_reminded ON acceptances (store_id, reminded_at) WHERE reminded_at IS NOT NULL;
CALL fence('acceptances', 'store_id');

ALTER TABLE mails
    DROP CONSTRAINT mails_kind_check,
    ADD CONSTRAINT mails_kind_check CHECK (kind IN ('invitation', 'webhook_warning', 'webhook_deactivated',
        'password_reset', 'customer_password_reset', 'order_reminder', 'order_cancelled'));
