DROP TRIGGER end_invitations_on_disabling ON users;
DROP TRIGGER end_invitations_on_demotion ON memberships;
DROP TRIGGER end_invitations_on_removal ON memberships;
DROP FUNCTION end_invitations_of_user();
DROP FUNCTION end_invitations_of_member();
DROP INDEX invitations_by_inviter;
ALTER TABLE invitations DROP COLUMN failures, DROP COLUMN mailed;
