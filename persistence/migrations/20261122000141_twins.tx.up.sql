-- A user can be invited to a store and its sandbox. The sandbox has the role of the live store, however it got there.
CREATE OR REPLACE FUNCTION mirror_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_user = 'comanda_app' THEN
        RAISE EXCEPTION
            'comanda_app sees one store at a time, and a change of members may concern two: use comanda_system';
    END IF;
    IF TG_OP = 'DELETE' THEN
        DELETE FROM memberships
        WHERE user_id = OLD.user_id AND store_id = (SELECT id FROM stores WHERE sandbox_of = OLD.store_id);
    ELSE
        INSERT INTO memberships (user_id, store_id, role, created_at)
            SELECT NEW.user_id, id, NEW.role, NEW.created_at FROM stores WHERE sandbox_of = NEW.store_id
            ON CONFLICT (user_id, store_id) DO UPDATE SET role = excluded.role, created_at = excluded.created_at;
    END IF;
    RETURN NULL;
END $$;

-- Earlier releases changed the members of a sandbox alone. They become those of the live store again.
ALTER TABLE stores NO FORCE ROW LEVEL SECURITY;
ALTER TABLE memberships NO FORCE ROW LEVEL SECURITY;
DELETE FROM memberships m USING stores twin
    WHERE twin.id = m.store_id AND twin.sandbox_of IS NOT NULL AND NOT EXISTS (
        SELECT FROM memberships live WHERE live.user_id = m.user_id AND live.store_id = twin.sandbox_of);
INSERT INTO memberships (user_id, store_id, role, created_at)
    SELECT live.user_id, twin.id, live.role, live.created_at
    FROM memberships live JOIN stores twin ON twin.sandbox_of = live.store_id
    ON CONFLICT (user_id, store_id) DO UPDATE SET role = excluded.role, created_at = excluded.created_at;
ALTER TABLE stores FORCE ROW LEVEL SECURITY;
ALTER TABLE memberships FORCE ROW LEVEL SECURITY;
