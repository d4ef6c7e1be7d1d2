DROP TABLE loyalty_entries, refunds, payments, acceptances, order_history, order_items, orders, order_numbers;
