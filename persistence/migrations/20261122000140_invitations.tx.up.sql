-- mailed: the link was also sent to the address. failures: wrong credentials of existing users so far.
ALTER TABLE invitations
    ADD COLUMN mailed   boolean NOT NULL DEFAULT false,
    ADD COLUMN failures integer NOT NULL DEFAULT 0;
CREATE INDEX invitations_by_inviter ON invitations (invited_by) WHERE accepted_at IS NULL;

-- An invitation ends when its inviter is no longer an enabled OWNER of each of its stores. Platform administrators are
-- members of no store; their invitations stay. Triggers apply the rule to every change of a member or a user.
CREATE FUNCTION end_invitations_of_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM invitations WHERE invited_by = OLD.user_id AND OLD.store_id = ANY (store_ids) AND accepted_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER end_invitations_on_removal AFTER DELETE ON memberships
    FOR EACH ROW WHEN (OLD.role = 'OWNER') EXECUTE FUNCTION end_invitations_of_member();
CREATE TRIGGER end_invitations_on_demotion AFTER UPDATE ON memberships
    FOR EACH ROW WHEN (OLD.role = 'OWNER' AND NEW.role <> 'OWNER') EXECUTE FUNCTION end_invitations_of_member();

CREATE FUNCTION end_invitations_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM invitations WHERE invited_by = NEW.id AND accepted_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER end_invitations_on_disabling AFTER UPDATE ON users FOR EACH ROW
    WHEN (NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL AND NEW.platform_role IS NULL)
    EXECUTE FUNCTION end_invitations_of_user();

-- Existing invitations: a sandbox means its live store, and those whose inviter is no longer an enabled OWNER end.
ALTER TABLE stores NO FORCE ROW LEVEL SECURITY;
ALTER TABLE memberships NO FORCE ROW LEVEL SECURITY;
UPDATE invitations i SET store_ids = (
        SELECT array_agg(DISTINCT coalesce(s.sandbox_of, s.id)) FROM stores s WHERE s.id = ANY (i.store_ids))
    WHERE EXISTS (SELECT FROM stores s WHERE s.id = ANY (i.store_ids) AND s.sandbox_of IS NOT NULL);
DELETE FROM invitations i USING users u
    WHERE i.accepted_at IS NULL AND u.id = i.invited_by AND u.platform_role IS NULL AND (u.disabled_at IS NOT NULL
        OR EXISTS (SELECT FROM unnest(i.store_ids) AS s (id) WHERE NOT EXISTS (
            SELECT FROM memberships m WHERE m.user_id = u.id AND m.store_id = s.id AND m.role = 'OWNER')));
ALTER TABLE stores FORCE ROW LEVEL SECURITY;
ALTER TABLE memberships FORCE ROW LEVEL SECURITY;
