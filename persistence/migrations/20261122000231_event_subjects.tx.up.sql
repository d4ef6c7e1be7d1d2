-- The order, customer, reservation or product that an event is about; for a payment, its order; '' for test.ping. Null
-- in events of the previous release, until the retention sets it. The index follows in 20261122000245.
ALTER TABLE outbox ADD COLUMN subject text;
