DROP INDEX orders_by_update, orders_to_refund, orders_by_business_date, orders_by_source, orders_by_fulfillment,
    orders_by_status;
ALTER TABLE orders DROP COLUMN search_name, DROP COLUMN search_surname, DROP COLUMN search_email,
    DROP COLUMN search_phone;
ALTER TABLE order_items DROP COLUMN stock_taken;
DROP TABLE order_history;
