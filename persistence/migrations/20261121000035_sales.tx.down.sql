DROP INDEX refunds_by_day;
CREATE INDEX refunds_by_business_date ON refunds (store_id, business_date);
CREATE INDEX customers_by_time ON customers (store_id, created_at);
CREATE INDEX order_items_by_day ON order_items (store_id, business_date)
    INCLUDE (order_id, product_id, quantity, total_minor, discount_minor);
CREATE INDEX orders_by_day ON orders (store_id, business_date)
    INCLUDE (id, customer_id, status, currency, subtotal_minor, discount_minor, tax_minor, delivery_fee_minor,
        item_count, created_at);
DROP TRIGGER count_items ON order_items;
DROP TRIGGER count_cancelled ON orders;
DROP TRIGGER count_placed ON orders;
DROP FUNCTION count_items, count_order;
ALTER TABLE customers DROP COLUMN business_date; -- drops its index too
DROP TABLE product_sales, customer_returns, customer_days, sales;
