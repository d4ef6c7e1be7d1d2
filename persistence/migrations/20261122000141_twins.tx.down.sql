CREATE OR REPLACE FUNCTION mirror_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_user = 'comanda_app' THEN
        RAISE EXCEPTION
            'comanda_app sees one store at a time, and a change of members may concern two: use comanda_system';
    END IF;
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM memberships
        WHERE user_id = OLD.user_id AND store_id = (SELECT id FROM stores WHERE sandbox_of = OLD.store_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO memberships (user_id, store_id, role, created_at)
            SELECT NEW.user_id, id, NEW.role, NEW.created_at FROM stores WHERE sandbox_of = NEW.store_id;
    END IF;
    RETURN NULL;
END $$;
