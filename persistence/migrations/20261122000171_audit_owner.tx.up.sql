-- erase_audit runs as the owner of the trail, whatever its name. The former policy named the role, so it no longer
-- applied after REASSIGN OWNED: the function found no entries and erased none.
DROP POLICY erasure ON audit;
CREATE POLICY erasure ON audit USING (current_setting('comanda.erasing_audit', true) = 'on'
    AND current_user = (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'audit'::regclass));
