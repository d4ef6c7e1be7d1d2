DROP TABLE used_id_tokens;
DROP TABLE website_client_ids;
