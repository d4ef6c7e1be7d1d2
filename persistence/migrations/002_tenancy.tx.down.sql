DROP FUNCTION store_queue;
DROP TABLE store_views, stores, website_client_ids;
DROP FUNCTION website_suspended;
DROP TABLE websites;
