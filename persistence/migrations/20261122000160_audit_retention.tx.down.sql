DROP FUNCTION erase_audit(regclass, text, timestamptz, integer);
DROP POLICY erasure ON audit;
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
