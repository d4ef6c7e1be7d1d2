-- Sums of the options in orders, for analytics, as product_sales for products. Triggers maintain them in the
-- transaction of the change. They run after those of product_sales, because triggers run in the order of their names;
-- so writers cannot deadlock.
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
CALL fence('option_sales', 'store_id');

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
