-- The tables of the minimal sender. While they exist, the events that the product writes go here instead of into its
-- outbox: the clients do the same work in the same transactions for both.
CREATE SCHEMA minimal;

CREATE TABLE minimal.webhooks (store_id text PRIMARY KEY, url text NOT NULL, secret text NOT NULL);

CREATE TABLE minimal.sends (
	id text PRIMARY KEY, -- of the event
	store_id text NOT NULL,
	body text NOT NULL,
	attempts integer NOT NULL DEFAULT 0,
	due_at timestamptz DEFAULT now() -- of the next attempt, or the end of the lease; NULL = delivered
);
CREATE INDEX sends_due ON minimal.sends (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE minimal.attempts (
	send_id text NOT NULL,
	number integer NOT NULL,
	status_code integer NOT NULL, -- 0 = no response
	error text NOT NULL,
	response_time_ms bigint NOT NULL,
	attempted_at timestamptz NOT NULL,
	PRIMARY KEY (send_id, number)
);

CREATE FUNCTION minimal.redirect() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	INSERT INTO minimal.sends (id, store_id, body) VALUES (NEW.id, NEW.store_id, NEW.body);
	RETURN NULL;
END $$;
CREATE TRIGGER redirect BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION minimal.redirect();

GRANT USAGE ON SCHEMA minimal TO comanda_system;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA minimal TO comanda_system;
