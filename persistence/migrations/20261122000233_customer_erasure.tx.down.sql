DROP FUNCTION erase_customer_audit(text, text);
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('comanda.erasing_audit', true) = 'on' THEN
        RETURN NULL; -- ignored by statement triggers
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
ALTER TABLE outbox DROP COLUMN erasing;
ALTER TABLE customers DROP COLUMN erased_at;
