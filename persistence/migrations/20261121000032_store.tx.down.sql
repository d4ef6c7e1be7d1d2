DROP INDEX customers_by_time;
DROP INDEX order_items_by_day;
DROP INDEX orders_by_day;
ALTER TABLE order_items DROP COLUMN business_date;
ALTER TABLE orders DROP COLUMN item_count;
DROP TABLE reservations;
ALTER TABLE stores DROP COLUMN seats, DROP COLUMN reservation_minutes, DROP COLUMN booking_lead_minutes,
    DROP COLUMN booking_max_days, DROP COLUMN settings_version;
