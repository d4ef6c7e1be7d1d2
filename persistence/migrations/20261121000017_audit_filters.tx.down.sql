DROP INDEX audit_by_actor, audit_by_target, audit_by_action;
