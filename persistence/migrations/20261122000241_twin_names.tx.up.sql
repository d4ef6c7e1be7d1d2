-- The name of a sandbox follows the name of its live store. Earlier releases let a sandbox be renamed.
ALTER TABLE stores NO FORCE ROW LEVEL SECURITY;
UPDATE stores twin SET name = live.name || ' (sandbox)' FROM stores live
    WHERE live.id = twin.sandbox_of AND twin.name <> live.name || ' (sandbox)';
ALTER TABLE stores FORCE ROW LEVEL SECURITY;
