-- The audit trail of the platform: actions of platform administrators and changes to websites. It belongs to no store.
CREATE TABLE platform_audit (
    id          text PRIMARY KEY,
    action      text NOT NULL,
    actor_realm text NOT NULL, -- '' = the service itself
    actor_id    text NOT NULL,
    target      text NOT NULL, -- id of the changed object; '' = none
    details     jsonb NOT NULL,
    address     text NOT NULL,
    request_id  text NOT NULL,
    at          timestamptz NOT NULL
);
CREATE INDEX platform_audit_newest ON platform_audit (at, id);
CREATE INDEX platform_audit_by_actor ON platform_audit (actor_id, at, id);
CREATE INDEX platform_audit_by_target ON platform_audit (target, at, id);
CREATE INDEX platform_audit_by_action ON platform_audit (action, at, id);
GRANT SELECT, INSERT ON platform_audit TO comanda_system;
CREATE TRIGGER platform_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON platform_audit
    EXECUTE FUNCTION refuse_change();

-- A store's trail contains the logins of its customers, of which there may be far more than other entries. A list
-- contains either the entries of customers or all others.
CREATE INDEX audit_newest_of_staff ON audit (store_id, at, id) WHERE actor_realm <> 'customer';
CREATE INDEX audit_newest_of_customers ON audit (store_id, at, id) WHERE actor_realm = 'customer';
CREATE INDEX audit_by_action_of_staff ON audit (store_id, action, at, id) WHERE actor_realm <> 'customer';
CREATE INDEX audit_by_action_of_customers ON audit (store_id, action, at, id) WHERE actor_realm = 'customer';
DROP INDEX audit_newest, audit_by_action;
