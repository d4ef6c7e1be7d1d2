DROP TABLE api_keys;
DROP TRIGGER mirror_membership ON memberships;
DROP FUNCTION mirror_membership();
ALTER TABLE stores DROP COLUMN sandbox_of;
