-- Migration 20261121000033 changed no rows if the owner was bound by forced row-level security. Its backfill is
-- repeated; it changes nothing where it took effect.
ALTER TABLE deliveries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE attempts NO FORCE ROW LEVEL SECURITY;
UPDATE deliveries d SET created_at = t.made FROM (
    SELECT id,
        timestamptz 'epoch' + interval '1 ms' * ('x' || lpad(substr(id, 5, 12), 16, '0'))::bit(64)::bigint AS made
    FROM deliveries WHERE id ~ '^dlv_[0-9a-f]{32}$'
) t WHERE t.id = d.id AND d.created_at <> t.made;
UPDATE deliveries d SET reason = a.error FROM attempts a
WHERE d.status = 'dead_letter' AND d.reason = '' AND a.delivery_id = d.id AND a.number = d.attempts;
ALTER TABLE deliveries FORCE ROW LEVEL SECURITY;
ALTER TABLE attempts FORCE ROW LEVEL SECURITY;
