-- Analytics: sums of orders. Triggers maintain them in the transaction of the change, so that a month has a few
-- thousand rows per channel, regardless of the number of orders. Cancelled orders count only in cancelled_orders. A
-- writer holds the lock of the store's last order number, or of the order that it cancels, and writes the tables in the
-- order of this file, so that writers cannot deadlock. Amounts are numeric, because the sum of the largest allowed
-- amounts exceeds every integer type.
CREATE TABLE sales (
    store_id           text NOT NULL,
    business_date      date NOT NULL,
    quarter            timestamptz NOT NULL, -- start of the quarter of an hour in which the orders were placed
    channel            text NOT NULL,        -- sales channel of the orders; empty = the store's own
    fulfillment_type   text NOT NULL,
    currency           text NOT NULL,
    orders             bigint NOT NULL,
    guest_orders       bigint NOT NULL,      -- orders of guests, and without a customer
    cancelled_orders   bigint NOT NULL,
    gross_minor        numeric NOT NULL,
    discount_minor     numeric NOT NULL,
    tax_minor          numeric NOT NULL,
    delivery_fee_minor numeric NOT NULL,
    items_sold         bigint NOT NULL,
    PRIMARY KEY (store_id, business_date, quarter, channel, fulfillment_type, currency)
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

-- Options of the orders, as product_sales for products.
CREATE TABLE option_sales (
    store_id      text NOT NULL,
    business_date date NOT NULL, -- of the order
    product_id    text NOT NULL,
    group_id      text NOT NULL,
    option_id     text NOT NULL,
    currency      text NOT NULL,
    group_name    text NOT NULL, -- in the last order; names of existing options come from the product
    name          text NOT NULL,
    quantity      bigint NOT NULL,
    net_minor     numeric NOT NULL,
    PRIMARY KEY (store_id, business_date, product_id, group_id, option_id, currency)
);

CALL fence('sales', 'store_id');
CALL fence('customer_days', 'store_id');
CALL fence('customer_returns', 'store_id');
CALL fence('product_sales', 'store_id');
CALL fence('option_sales', 'store_id');

-- Returns the changes of customer_returns when a customer has the first order of a day (1), or no order of the day any
-- more (-1).
CREATE FUNCTION return_changes(store text, customer text, day date, change bigint)
    RETURNS TABLE (business_date date, seen_before date, customers bigint) LANGUAGE sql STABLE AS $$
    SELECT v.day, v.before, v.change
    FROM (SELECT coalesce((SELECT max(d.business_date) FROM customer_days d WHERE d.store_id = store
                AND d.customer_id = customer AND d.business_date < day AND d.orders > 0), c.business_date) AS seen,
            (SELECT min(d.business_date) FROM customer_days d WHERE d.store_id = store
                AND d.customer_id = customer AND d.business_date > day AND d.orders > 0) AS following
        FROM customers c WHERE c.id = customer) s,
        LATERAL (VALUES (day, s.seen, change), (s.following, s.seen, -change), (s.following, day, change))
            AS v (day, before, change)
    WHERE v.day IS NOT NULL
$$;

-- Returns 1 for the orders of a guest and for those without a customer, 0 for those of an account.
CREATE FUNCTION guest_order(customer text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT (kind = 'guest')::int FROM customers WHERE id = customer), 1)
$$;

-- Adds a placed order, or subtracts a cancelled one. The caller holds the lock of the customer.
CREATE FUNCTION count_order() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sold      bigint := (NEW.status <> 'CANCELLED')::int;
    cancelled bigint := (NEW.status = 'CANCELLED')::int;
    days      bigint;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        sold := sold - (OLD.status <> 'CANCELLED')::int;
        cancelled := cancelled - (OLD.status = 'CANCELLED')::int;
    END IF;
    INSERT INTO sales AS s (store_id, business_date, quarter, channel, fulfillment_type, currency, orders, guest_orders,
            cancelled_orders, gross_minor, discount_minor, tax_minor, delivery_fee_minor, items_sold)
        VALUES (NEW.store_id, NEW.business_date, date_bin('15 minutes', NEW.created_at, 'epoch'),
            coalesce(NEW.channel, ''), NEW.fulfillment_type, NEW.currency, sold,
            sold * guest_order(NEW.customer_id), cancelled,
            sold * NEW.subtotal_minor, sold * (NEW.discount_minor + NEW.loyalty_minor), sold * NEW.tax_minor,
            sold * NEW.delivery_fee_minor,
            sold * NEW.item_count)
        ON CONFLICT (store_id, business_date, quarter, channel, fulfillment_type, currency) DO UPDATE SET
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
        SELECT NEW.store_id, NEW.customer_id, NEW.business_date, sold WHERE NEW.customer_id IS NOT NULL
        ON CONFLICT (store_id, customer_id, business_date) DO UPDATE SET orders = d.orders + excluded.orders
        RETURNING orders INTO days;
    IF days = greatest(sold, 0) THEN -- the first order of a day, or its last one was cancelled
        INSERT INTO customer_returns AS r (store_id, business_date, seen_before, customers)
            SELECT NEW.store_id, c.business_date, c.seen_before, sum(c.customers)
            FROM return_changes(NEW.store_id, NEW.customer_id, NEW.business_date, sold) c GROUP BY 2, 3 ORDER BY 2, 3
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

-- Adds the difference of an order whose amounts or customer change. The caller holds the locks of both customers. One
-- statement writes the rows of customer_returns, in their order.
CREATE FUNCTION count_amended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    old_days bigint;
    new_days bigint;
BEGIN
    UPDATE sales SET guest_orders = guest_orders + guest_order(NEW.customer_id) - guest_order(OLD.customer_id),
            gross_minor = gross_minor + NEW.subtotal_minor - OLD.subtotal_minor,
            discount_minor = discount_minor + NEW.discount_minor - OLD.discount_minor,
            tax_minor = tax_minor + NEW.tax_minor - OLD.tax_minor,
            delivery_fee_minor = delivery_fee_minor + NEW.delivery_fee_minor - OLD.delivery_fee_minor,
            items_sold = items_sold + NEW.item_count - OLD.item_count
        WHERE store_id = NEW.store_id AND business_date = NEW.business_date
            AND quarter = date_bin('15 minutes', NEW.created_at, 'epoch') AND channel = coalesce(NEW.channel, '')
            AND fulfillment_type = NEW.fulfillment_type AND currency = NEW.currency;
    IF NEW.customer_id IS NOT DISTINCT FROM OLD.customer_id THEN
        RETURN NULL;
    END IF;
    UPDATE customer_days SET orders = orders - 1 WHERE store_id = OLD.store_id AND customer_id = OLD.customer_id
        AND business_date = OLD.business_date RETURNING orders INTO old_days;
    INSERT INTO customer_days AS d (store_id, customer_id, business_date, orders)
        SELECT NEW.store_id, NEW.customer_id, NEW.business_date, 1 WHERE NEW.customer_id IS NOT NULL
        ON CONFLICT (store_id, customer_id, business_date) DO UPDATE SET orders = d.orders + 1
        RETURNING orders INTO new_days;
    INSERT INTO customer_returns AS r (store_id, business_date, seen_before, customers)
        SELECT NEW.store_id, c.business_date, c.seen_before, sum(c.customers)
        FROM (SELECT * FROM return_changes(OLD.store_id, OLD.customer_id, OLD.business_date, -1) WHERE old_days = 0
            UNION ALL
            SELECT * FROM return_changes(NEW.store_id, NEW.customer_id, NEW.business_date, 1) WHERE new_days = 1) c
        GROUP BY 2, 3 ORDER BY 2, 3
        ON CONFLICT (store_id, business_date, seen_before) DO UPDATE SET customers = r.customers + excluded.customers;
    RETURN NULL;
END $$;
CREATE TRIGGER count_amended AFTER UPDATE OF customer_id, subtotal_minor, discount_minor, tax_minor, delivery_fee_minor,
        item_count ON orders FOR EACH ROW
    WHEN (OLD.status <> 'CANCELLED' AND (OLD.customer_id, OLD.subtotal_minor, OLD.discount_minor, OLD.tax_minor,
        OLD.delivery_fee_minor, OLD.item_count) IS DISTINCT FROM (NEW.customer_id, NEW.subtotal_minor,
        NEW.discount_minor, NEW.tax_minor, NEW.delivery_fee_minor, NEW.item_count)) EXECUTE FUNCTION count_amended();

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

-- The triggers of options run after those of products, because triggers run in the order of their names.
CREATE FUNCTION count_options() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO option_sales AS s (store_id, business_date, product_id, group_id, option_id, currency, group_name, name,
            quantity, net_minor)
        SELECT o.store_id, o.business_date, i.product_id, c."groupId", c."optionId", o.currency, max(c."groupName"),
            max(c.name), sum(c.quantity * i.quantity), sum(c."netMinor")
        FROM added i JOIN orders o ON o.id = i.order_id,
            jsonb_to_recordset(i.options) AS c ("groupId" text, "groupName" text, "optionId" text, name text,
                quantity bigint, "netMinor" bigint)
        WHERE o.status <> 'CANCELLED' GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
        ON CONFLICT (store_id, business_date, product_id, group_id, option_id, currency) DO UPDATE SET
            group_name = excluded.group_name, name = excluded.name, quantity = s.quantity + excluded.quantity,
            net_minor = s.net_minor + excluded.net_minor;
    RETURN NULL;
END $$;
CREATE TRIGGER count_options AFTER INSERT ON order_items REFERENCING NEW TABLE AS added FOR EACH STATEMENT
    EXECUTE FUNCTION count_options();

-- Subtracts the options of a cancelled order.
CREATE FUNCTION uncount_options() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE option_sales s SET quantity = s.quantity - d.quantity, net_minor = s.net_minor - d.net_minor
        FROM (SELECT i.product_id, c."groupId", c."optionId", sum(c.quantity * i.quantity) AS quantity,
                sum(c."netMinor") AS net_minor
            FROM order_items i,
                jsonb_to_recordset(i.options) AS c ("groupId" text, "optionId" text, quantity bigint, "netMinor" bigint)
            WHERE i.order_id = NEW.id GROUP BY 1, 2, 3) d
        WHERE s.store_id = NEW.store_id AND s.business_date = NEW.business_date AND s.product_id = d.product_id
            AND s.group_id = d."groupId" AND s.option_id = d."optionId" AND s.currency = NEW.currency;
    RETURN NULL;
END $$;
CREATE TRIGGER uncount_options AFTER UPDATE OF status ON orders FOR EACH ROW
    WHEN (OLD.status <> 'CANCELLED' AND NEW.status = 'CANCELLED') EXECUTE FUNCTION uncount_options();

-- Subtracts the items that a change of an order replaces. The insertion of the new items adds theirs.
CREATE FUNCTION uncount_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE product_sales p SET quantity = p.quantity - d.quantity, net_minor = p.net_minor - d.net_minor
        FROM (SELECT o.store_id, o.business_date, i.product_id, o.currency, sum(i.quantity) AS quantity,
                sum(i.total_minor - i.discount_minor) AS net_minor
            FROM removed i JOIN orders o ON o.id = i.order_id WHERE o.status <> 'CANCELLED' GROUP BY 1, 2, 3, 4) d
        WHERE (p.store_id, p.business_date, p.product_id, p.currency)
            = (d.store_id, d.business_date, d.product_id, d.currency);
    UPDATE option_sales s SET quantity = s.quantity - d.quantity, net_minor = s.net_minor - d.net_minor
        FROM (SELECT o.store_id, o.business_date, i.product_id, c."groupId", c."optionId", o.currency,
                sum(c.quantity * i.quantity) AS quantity, sum(c."netMinor") AS net_minor
            FROM removed i JOIN orders o ON o.id = i.order_id,
                jsonb_to_recordset(i.options) AS c ("groupId" text, "optionId" text, quantity bigint, "netMinor" bigint)
            WHERE o.status <> 'CANCELLED' GROUP BY 1, 2, 3, 4, 5, 6) d
        WHERE (s.store_id, s.business_date, s.product_id, s.group_id, s.option_id, s.currency)
            = (d.store_id, d.business_date, d.product_id, d."groupId", d."optionId", d.currency);
    RETURN NULL;
END $$;
CREATE TRIGGER uncount_items AFTER DELETE ON order_items REFERENCING OLD TABLE AS removed FOR EACH STATEMENT
    EXECUTE FUNCTION uncount_items();
