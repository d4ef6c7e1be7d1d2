DROP FUNCTION plan_queue, store_queue, queue_of;
DROP TABLE store_views, stores, website_client_ids;
DROP FUNCTION website_suspended;
DROP TABLE websites;
