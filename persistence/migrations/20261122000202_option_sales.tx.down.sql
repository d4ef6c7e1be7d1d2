DROP TRIGGER uncount_options ON orders;
DROP TRIGGER count_options ON order_items;
DROP FUNCTION uncount_options, count_options;
DROP TABLE option_sales;
