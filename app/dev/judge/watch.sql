-- The log of the judge: what each transaction has committed to the tables that it watches, in a schema of its own.
-- Rows have the id and the snapshot of their transaction, so that the order of commits does not depend on clocks.
CREATE SCHEMA judge;

CREATE TABLE judge.log (
    number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seen pg_snapshot NOT NULL DEFAULT pg_current_snapshot(),
    source text NOT NULL,
    content jsonb NOT NULL
);

-- The arguments of a trigger are the columns that it leaves out. The function runs as its owner, since the roles of the
-- service have no access to this schema.
CREATE FUNCTION judge.write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO judge.log (source, content)
    VALUES (TG_TABLE_NAME, to_jsonb(CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END) - coalesce(TG_ARGV, '{}'));
    RETURN NULL;
END $$;

CREATE TRIGGER judge AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION judge.write('trace_context');
CREATE TRIGGER judge AFTER INSERT ON event_log FOR EACH ROW EXECUTE FUNCTION judge.write();
CREATE TRIGGER judge AFTER INSERT OR UPDATE ON subscriptions FOR EACH ROW
    EXECUTE FUNCTION judge.write('secret', 'previous_secret', 'headers');
CREATE TRIGGER judge AFTER INSERT OR UPDATE ON websites FOR EACH ROW EXECUTE FUNCTION judge.write();
CREATE TRIGGER judge AFTER INSERT ON order_history FOR EACH ROW
    EXECUTE FUNCTION judge.write('before', 'item_changes', 'changed_fields');
CREATE TRIGGER judge AFTER INSERT ON idempotency_keys FOR EACH ROW
    EXECUTE FUNCTION judge.write('response', 'body_hash', 'credential');
CREATE TRIGGER judge_insert AFTER INSERT ON products FOR EACH ROW EXECUTE FUNCTION judge.write();
CREATE TRIGGER judge_update AFTER UPDATE ON products FOR EACH ROW
    WHEN (OLD.stock_quantity IS DISTINCT FROM NEW.stock_quantity) EXECUTE FUNCTION judge.write();
CREATE TRIGGER judge AFTER INSERT ON invitations FOR EACH ROW EXECUTE FUNCTION judge.write('token_hash');
CREATE TRIGGER judge_insert AFTER INSERT ON replays FOR EACH ROW EXECUTE FUNCTION judge.write();
CREATE TRIGGER judge_update AFTER UPDATE ON replays FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION judge.write();
-- Claims delete the windows of the past.
CREATE TRIGGER judge AFTER DELETE ON plan_windows FOR EACH ROW EXECUTE FUNCTION judge.write();
CREATE TRIGGER judge_insert AFTER INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION judge.write();
CREATE TRIGGER judge_update AFTER UPDATE ON deliveries FOR EACH ROW
    WHEN ((OLD.status, OLD.generation, OLD.counted_in, OLD.replays, OLD.ordered)
        IS DISTINCT FROM (NEW.status, NEW.generation, NEW.counted_in, NEW.replays, NEW.ordered)
        OR OLD.attempts = OLD.schedule_base AND NEW.attempts > OLD.attempts) -- a late one can leave the status
    EXECUTE FUNCTION judge.write();
