ALTER TABLE customers ADD COLUMN erased_at timestamptz; -- the personal data was replaced

-- The customer whose erasure erases the event's body as soon as its deliveries have ended. The index follows in
-- 20261122000245.
ALTER TABLE outbox ADD COLUMN erasing text;

-- The trails stay append-only, except that erase_audit erases old entries and erase_customer_audit replaces personal
-- data. The settings give no privilege: PostgreSQL refuses a role without UPDATE or DELETE on a trail before triggers
-- run.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('comanda.erasing_audit', true) = 'on'
        OR TG_OP = 'UPDATE' AND current_setting('comanda.erasing_customer', true) = 'on' THEN
        RETURN NULL; -- ignored by statement triggers
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;

-- Replaces a customer's address and email by the customer's id in the entries about the customer. The entries keep
-- time, action, actor and target. Addresses of users stay. It serves the store of the transaction only.
CREATE FUNCTION erase_customer_audit(of_customer text, former_email text) RETURNS void
LANGUAGE plpgsql STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('comanda.erasing_audit', 'on', true), -- for the policy of the owner
        set_config('comanda.erasing_customer', 'on', true);
    UPDATE public.audit SET address = CASE actor_realm WHEN 'customer' THEN of_customer ELSE address END,
        details = CASE former_email WHEN '' THEN details
            ELSE replace(details::text, to_json(former_email)::text, to_json(of_customer)::text)::jsonb END
    WHERE store_id = current_setting('comanda.store_id', true)
        AND (actor_realm = 'customer' AND actor_id = of_customer OR target = of_customer);
    PERFORM set_config('comanda.erasing_audit', 'off', true), set_config('comanda.erasing_customer', 'off', true);
END $$;
REVOKE ALL ON FUNCTION erase_customer_audit(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_customer_audit(text, text) TO comanda_app;
