DROP TRIGGER uncount_items ON order_items;
DROP TRIGGER uncount_options ON orders;
DROP TRIGGER count_options ON order_items;
DROP TRIGGER count_items ON order_items;
DROP TRIGGER count_amended ON orders;
DROP TRIGGER count_cancelled ON orders;
DROP TRIGGER count_placed ON orders;
DROP FUNCTION uncount_options, count_options, count_items, count_order, count_amended, return_changes, uncount_items,
    guest_order;
DROP TABLE option_sales, product_sales, customer_returns, customer_days, sales;
