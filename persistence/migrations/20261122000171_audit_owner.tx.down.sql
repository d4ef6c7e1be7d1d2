DROP POLICY erasure ON audit;
CREATE POLICY erasure ON audit TO CURRENT_USER USING (current_setting('comanda.erasing_audit', true) = 'on');
