ALTER TABLE subscription_health DROP quick, DROP healthy;
DROP TRIGGER reenter_queue ON deliveries;
DROP TRIGGER enter_queue ON deliveries;
DROP FUNCTION enter_queue;
ALTER TABLE deliveries DROP check_at, DROP counted_in, DROP burst_id, DROP schedule_base, DROP generation, DROP class,
    DROP queue;
