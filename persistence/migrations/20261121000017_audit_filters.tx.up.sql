-- For lists of the audit trail, newest first, filtered by actor, target or action.
CREATE INDEX audit_by_actor ON audit (store_id, actor_id, at, id);
CREATE INDEX audit_by_target ON audit (store_id, target, at, id);
CREATE INDEX audit_by_action ON audit (store_id, action, at, id);
