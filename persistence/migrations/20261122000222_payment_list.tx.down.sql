DROP INDEX payments_by_provider;
DROP INDEX payments_by_status;
DROP INDEX payments_newest;
