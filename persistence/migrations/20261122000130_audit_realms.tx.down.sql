CREATE INDEX audit_newest ON audit (store_id, at, id);
CREATE INDEX audit_by_action ON audit (store_id, action, at, id);
DROP INDEX audit_newest_of_staff, audit_newest_of_customers, audit_by_action_of_staff, audit_by_action_of_customers;
DROP TABLE platform_audit;
