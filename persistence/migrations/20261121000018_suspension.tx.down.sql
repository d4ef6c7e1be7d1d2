DROP FUNCTION website_suspended(text);
