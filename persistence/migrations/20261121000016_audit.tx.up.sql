-- The audit trail: actor, action, target, time and address. An entry is written in the transaction of the action and
-- never changed. The roles of the service have no privilege to do so, and a trigger protects it from the owner.
CREATE TABLE audit (
    id          text PRIMARY KEY,
    store_id    text NOT NULL REFERENCES stores,
    action      text NOT NULL,
    actor_realm text NOT NULL, -- '' = the service itself
    actor_id    text NOT NULL,
    target      text NOT NULL, -- id of the changed object; '' = none
    details     jsonb NOT NULL,
    address     text NOT NULL,
    request_id  text NOT NULL,
    at          timestamptz NOT NULL
);
CREATE INDEX audit_newest ON audit (store_id, at, id);
CALL fence('audit', 'store_id');
REVOKE UPDATE, DELETE ON audit FROM comanda_app, comanda_system;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit EXECUTE FUNCTION refuse_change();
