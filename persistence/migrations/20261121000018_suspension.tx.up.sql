-- comanda_app, which sees one store, can read nothing of websites except whether one is suspended.
CREATE FUNCTION website_suspended(website text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
    BEGIN ATOMIC SELECT suspended_at IS NOT NULL FROM websites WHERE id = website; END;
REVOKE ALL ON FUNCTION website_suspended(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION website_suspended(text) TO comanda_app;
