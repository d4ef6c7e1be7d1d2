-- Sums for analytics. Triggers maintain them in the transaction of the change, so that a month has a few thousand rows,
-- regardless of the number of orders. Cancelled orders count only in cancelled_orders. A writer holds the lock of the
-- store's last order number, or of the order that it cancels, and writes the tables in the order of this file, so that
-- writers cannot deadlock. Amounts are numeric, because the sum of the largest allowed amounts exceeds every integer
-- type.
CREATE TABLE sales (
    store_id           text NOT NULL,
    business_date      date NOT NULL,
    quarter            timestamptz NOT NULL, -- start of the quarter of an hour in which the orders were placed
    currency           text NOT NULL,
    orders             bigint NOT NULL,
    guest_orders       bigint NOT NULL,      -- orders that guests placed
    cancelled_orders   bigint NOT NULL,
    gross_minor        numeric NOT NULL,
    discount_minor     numeric NOT NULL,
    tax_minor          numeric NOT NULL,
    delivery_fee_minor numeric NOT NULL,
    items_sold         bigint NOT NULL,
    PRIMARY KEY (store_id, business_date, quarter, currency)
);

-- Number of orders of a customer by day.
CREATE TABLE customer_days (
    store_id      text NOT NULL,
    customer_id   text NOT NULL,
    business_date date NOT NULL,
    orders        bigint NOT NULL, -- 0 = all were cancelled; the day does not count
    PRIMARY KEY (store_id, customer_id, business_date)
);

-- Number of customers who ordered on a day, by the day of their previous order or, without one, of their creation. A
-- returning customer of a period has exactly one day in the period whose previous day is before the period.
CREATE TABLE customer_returns (
    store_id      text NOT NULL,
    business_date date NOT NULL,
    seen_before   date NOT NULL,
    customers     bigint NOT NULL,
    PRIMARY KEY (store_id, business_date, seen_before)
);

CREATE TABLE product_sales (
    store_id      text NOT NULL,
    business_date date NOT NULL, -- of the order
    product_id    text NOT NULL,
    currency      text NOT NULL,
    quantity      bigint NOT NULL,
    net_minor     numeric NOT NULL,
    PRIMARY KEY (store_id, business_date, product_id, currency)
);

-- The business day on which a customer was created. The default is for the previous release, which does not set it.
ALTER TABLE customers ADD COLUMN business_date date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date;

-- Adds a placed order, or subtracts a cancelled one. The caller holds the lock of the customer.
CREATE FUNCTION count_order() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sold      bigint := (NEW.status <> 'CANCELLED')::int;
    cancelled bigint := (NEW.status = 'CANCELLED')::int;
    guest     bigint;
    seen      date;
    days      bigint;
    following date;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        sold := sold - (OLD.status <> 'CANCELLED')::int;
        cancelled := cancelled - (OLD.status = 'CANCELLED')::int;
    END IF;
    SELECT (kind = 'guest')::int, business_date INTO guest, seen FROM customers WHERE id = NEW.customer_id;
    INSERT INTO sales AS s (store_id, business_date, quarter, currency, orders, guest_orders, cancelled_orders,
            gross_minor, discount_minor, tax_minor, delivery_fee_minor, items_sold)
        VALUES (NEW.store_id, NEW.business_date, date_bin('15 minutes', NEW.created_at, 'epoch'), NEW.currency,
            sold, sold * guest, cancelled,
            sold * NEW.subtotal_minor, sold * NEW.discount_minor, sold * NEW.tax_minor, sold * NEW.delivery_fee_minor,
            sold * NEW.item_count)
        ON CONFLICT (store_id, business_date, quarter, currency) DO UPDATE SET
            orders = s.orders + excluded.orders, guest_orders = s.guest_orders + excluded.guest_orders,
            cancelled_orders = s.cancelled_orders + excluded.cancelled_orders,
            gross_minor = s.gross_minor + excluded.gross_minor,
            discount_minor = s.discount_minor + excluded.discount_minor,
            tax_minor = s.tax_minor + excluded.tax_minor,
            delivery_fee_minor = s.delivery_fee_minor + excluded.delivery_fee_minor,
            items_sold = s.items_sold + excluded.items_sold;
    IF sold = 0 THEN
        RETURN NULL;
    END IF;
    INSERT INTO customer_days AS d (store_id, customer_id, business_date, orders)
        VALUES (NEW.store_id, NEW.customer_id, NEW.business_date, sold)
        ON CONFLICT (store_id, customer_id, business_date) DO UPDATE SET orders = d.orders + excluded.orders
        RETURNING orders INTO days;
    IF days = greatest(sold, 0) THEN -- the first order of a day, or its last one was cancelled
        SELECT coalesce(max(business_date), seen) INTO seen FROM customer_days
            WHERE store_id = NEW.store_id AND customer_id = NEW.customer_id AND business_date < NEW.business_date
                AND orders > 0;
        SELECT min(business_date) INTO following FROM customer_days
            WHERE store_id = NEW.store_id AND customer_id = NEW.customer_id AND business_date > NEW.business_date
                AND orders > 0;
        INSERT INTO customer_returns AS r (store_id, business_date, seen_before, customers)
            SELECT NEW.store_id, day, before, sum(change)
            FROM (VALUES (NEW.business_date, seen, sold), (following, seen, -sold),
                (following, NEW.business_date, sold)) AS v (day, before, change)
            WHERE day IS NOT NULL GROUP BY day, before ORDER BY day, before
            ON CONFLICT (store_id, business_date, seen_before)
                DO UPDATE SET customers = r.customers + excluded.customers;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO product_sales AS p (store_id, business_date, product_id, currency, quantity, net_minor)
            SELECT NEW.store_id, NEW.business_date, product_id, NEW.currency, sold * sum(quantity),
                sold * sum(total_minor - discount_minor)
            FROM order_items WHERE order_id = NEW.id GROUP BY product_id ORDER BY product_id
            ON CONFLICT (store_id, business_date, product_id, currency) DO UPDATE SET
                quantity = p.quantity + excluded.quantity, net_minor = p.net_minor + excluded.net_minor;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER count_placed AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION count_order();
CREATE TRIGGER count_cancelled AFTER UPDATE OF status ON orders FOR EACH ROW
    WHEN ((OLD.status = 'CANCELLED') <> (NEW.status = 'CANCELLED')) EXECUTE FUNCTION count_order();

CREATE FUNCTION count_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO product_sales AS p (store_id, business_date, product_id, currency, quantity, net_minor)
        SELECT o.store_id, o.business_date, i.product_id, o.currency, sum(i.quantity),
            sum(i.total_minor - i.discount_minor)
        FROM added i JOIN orders o ON o.id = i.order_id WHERE o.status <> 'CANCELLED'
        GROUP BY o.store_id, o.business_date, i.product_id, o.currency
        ORDER BY o.store_id, o.business_date, i.product_id, o.currency
        ON CONFLICT (store_id, business_date, product_id, currency) DO UPDATE SET
            quantity = p.quantity + excluded.quantity, net_minor = p.net_minor + excluded.net_minor;
    RETURN NULL;
END $$;
CREATE TRIGGER count_items AFTER INSERT ON order_items REFERENCING NEW TABLE AS added FOR EACH STATEMENT
    EXECUTE FUNCTION count_items();

-- Count existing rows. The creation of the triggers has locked the tables until the commit.
ALTER TABLE stores NO FORCE ROW LEVEL SECURITY;
ALTER TABLE customers NO FORCE ROW LEVEL SECURITY;
ALTER TABLE orders NO FORCE ROW LEVEL SECURITY;
ALTER TABLE order_items NO FORCE ROW LEVEL SECURITY;
UPDATE customers c SET business_date =
    ((c.created_at AT TIME ZONE coalesce(z.name, 'UTC')) - s.business_day_cutoff_hour * interval '1 hour')::date
    FROM stores s LEFT JOIN pg_timezone_names z ON z.name = s.timezone WHERE s.id = c.store_id;
INSERT INTO sales
    SELECT o.store_id, o.business_date, date_bin('15 minutes', o.created_at, 'epoch'), o.currency,
        count(*) FILTER (WHERE o.status <> 'CANCELLED'),
        count(*) FILTER (WHERE o.status <> 'CANCELLED' AND c.kind = 'guest'),
        count(*) FILTER (WHERE o.status = 'CANCELLED'),
        sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.subtotal_minor END),
        sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.discount_minor END),
        sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.tax_minor END),
        sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.delivery_fee_minor END),
        sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.item_count END)
    FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
INSERT INTO customer_days SELECT store_id, customer_id, business_date, count(*) FROM orders WHERE status <> 'CANCELLED'
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
INSERT INTO customer_returns
    SELECT store_id, business_date, seen_before, count(*)
    FROM (SELECT d.store_id, d.business_date,
            coalesce(lag(d.business_date) OVER (PARTITION BY d.store_id, d.customer_id ORDER BY d.business_date),
                c.business_date) AS seen_before
        FROM customer_days d JOIN customers c ON c.id = d.customer_id) v GROUP BY 1, 2, 3;
INSERT INTO product_sales
    SELECT o.store_id, o.business_date, i.product_id, o.currency, sum(i.quantity), sum(i.total_minor - i.discount_minor)
    FROM order_items i JOIN orders o ON o.id = i.order_id WHERE o.status <> 'CANCELLED' GROUP BY 1, 2, 3, 4
    ORDER BY 1, 2, 3, 4;
ALTER TABLE stores FORCE ROW LEVEL SECURITY;
ALTER TABLE customers FORCE ROW LEVEL SECURITY;
ALTER TABLE orders FORCE ROW LEVEL SECURITY;
ALTER TABLE order_items FORCE ROW LEVEL SECURITY;
CALL fence('sales', 'store_id');
CALL fence('customer_days', 'store_id');
CALL fence('customer_returns', 'store_id');
CALL fence('product_sales', 'store_id');

-- Indexes that the new tables replace.
DROP INDEX orders_by_day;
DROP INDEX order_items_by_day;
DROP INDEX customers_by_time; -- the same as customers_newest
CREATE INDEX customers_by_day ON customers (store_id, business_date);
DROP INDEX refunds_by_business_date;
CREATE INDEX refunds_by_day ON refunds (store_id, business_date) INCLUDE (currency, amount_minor, created_at);
