DROP TABLE idempotency_keys, order_items, orders, order_numbers, customers, products;
