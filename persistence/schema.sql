-- The whole schema, as PostgreSQL describes it after all migrations. The files in migrations give the reasons, and
-- "task golden" writes this file. The owner of the database owns all objects.

CREATE TABLE acceptances (
    order_id text NOT NULL,
    store_id text NOT NULL,
    since timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    reminded_at timestamp with time zone,
    CONSTRAINT acceptances_pkey PRIMARY KEY (order_id),
    CONSTRAINT acceptances_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
    CONSTRAINT acceptances_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
CREATE INDEX acceptances_next ON acceptances (next_at, order_id);
CREATE INDEX acceptances_reminded ON acceptances (store_id, reminded_at) WHERE (reminded_at IS NOT NULL);
ALTER TABLE acceptances ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON acceptances TO comanda_system USING (true);
CREATE POLICY one_store ON acceptances TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON acceptances TO comanda_app, comanda_system;

CREATE TABLE addresses (
    id text NOT NULL,
    store_id text NOT NULL,
    customer_id text NOT NULL,
    label text NOT NULL,
    address jsonb NOT NULL,
    is_default boolean NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT addresses_pkey PRIMARY KEY (id),
    CONSTRAINT addresses_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
    CONSTRAINT addresses_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
CREATE UNIQUE INDEX addresses_default ON addresses (customer_id) WHERE is_default;
CREATE INDEX addresses_of_customer ON addresses (store_id, customer_id, created_at, id);
ALTER TABLE addresses ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON addresses TO comanda_system USING (true);
CREATE POLICY one_store ON addresses TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON addresses TO comanda_app, comanda_system;

CREATE TABLE api_keys (
    id text NOT NULL,
    store_id text NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    mode text NOT NULL,
    hash bytea NOT NULL,
    last_four text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_hash_key UNIQUE (hash),
    CONSTRAINT api_keys_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT api_keys_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT api_keys_last_four_check CHECK ((length(last_four) = 4)),
    CONSTRAINT api_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT api_keys_scopes_check CHECK ((cardinality(scopes) > 0))
);
CREATE INDEX api_keys_newest ON api_keys (store_id, id);
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON api_keys TO comanda_system USING (true);
CREATE POLICY one_store ON api_keys TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON api_keys TO comanda_app, comanda_system;

CREATE TABLE attempts (
    id text NOT NULL,
    store_id text NOT NULL,
    delivery_id text,
    subscription_id text NOT NULL,
    event_id text NOT NULL,
    event_type text NOT NULL,
    is_test boolean NOT NULL GENERATED ALWAYS AS ((delivery_id IS NULL)) STORED,
    number integer NOT NULL,
    status text NOT NULL,
    request_url text NOT NULL DEFAULT ''::text,
    request_headers jsonb,
    status_code integer NOT NULL,
    response_time_ms bigint NOT NULL,
    error text NOT NULL,
    response_headers jsonb,
    response_body bytea,
    attempted_at timestamp with time zone NOT NULL,
    next_retry_at timestamp with time zone,
    CONSTRAINT attempts_pkey PRIMARY KEY (id),
    CONSTRAINT attempts_delivery_id_number_key UNIQUE (delivery_id, number),
    CONSTRAINT attempts_status_check CHECK ((status = ANY (ARRAY['delivered'::text, 'failed'::text, 'retrying'::text,
        'dead_letter'::text])))
);
CREATE INDEX attempts_of_subscription ON attempts (subscription_id, attempted_at, id) INCLUDE (store_id, status,
        event_type, response_time_ms, is_test);
CREATE UNIQUE INDEX attempts_of_tests ON attempts (event_id) WHERE (delivery_id IS NULL);
ALTER TABLE attempts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON attempts TO comanda_system USING (true);
CREATE POLICY one_store ON attempts TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON attempts TO comanda_app, comanda_system;

CREATE TABLE audit (
    id text NOT NULL,
    store_id text NOT NULL,
    action text NOT NULL,
    actor_realm text NOT NULL,
    actor_id text NOT NULL,
    target text NOT NULL,
    details jsonb NOT NULL,
    address text NOT NULL,
    request_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT audit_pkey PRIMARY KEY (id),
    CONSTRAINT audit_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
CREATE INDEX audit_by_action_of_customers ON audit (store_id, action, at, id) WHERE (actor_realm = 'customer'::text);
CREATE INDEX audit_by_action_of_staff ON audit (store_id, action, at, id) WHERE (actor_realm <> 'customer'::text);
CREATE INDEX audit_by_actor ON audit (store_id, actor_id, at, id);
CREATE INDEX audit_by_target ON audit (store_id, target, at, id);
CREATE INDEX audit_newest_of_customers ON audit (store_id, at, id) WHERE (actor_realm = 'customer'::text);
CREATE INDEX audit_newest_of_staff ON audit (store_id, at, id) WHERE (actor_realm <> 'customer'::text);
ALTER TABLE audit ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY erasure ON audit TO public USING (((current_setting('comanda.erasing_audit'::text, true) = 'on'::text) AND
        (CURRENT_USER = ( SELECT pg_get_userbyid(pg_class.relowner) AS pg_get_userbyid
   FROM pg_class
  WHERE (pg_class.oid = ('audit'::regclass)::oid)))));
CREATE POLICY every_store ON audit TO comanda_system USING (true);
CREATE POLICY one_store ON audit TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION
        refuse_change();
GRANT INSERT, SELECT ON audit TO comanda_app, comanda_system;

CREATE TABLE bun_migration_locks (
    id bigint NOT NULL DEFAULT nextval('bun_migration_locks_id_seq'::regclass),
    table_name character varying,
    CONSTRAINT bun_migration_locks_pkey PRIMARY KEY (id),
    CONSTRAINT bun_migration_locks_table_name_key UNIQUE (table_name)
);

CREATE TABLE bun_migrations (
    id bigint NOT NULL DEFAULT nextval('bun_migrations_id_seq'::regclass),
    name character varying,
    group_id bigint,
    migrated_at timestamp with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT bun_migrations_pkey PRIMARY KEY (id)
);
GRANT SELECT ON bun_migrations TO comanda_system;

CREATE TABLE customer_days (
    store_id text NOT NULL,
    customer_id text NOT NULL,
    business_date date NOT NULL,
    orders bigint NOT NULL,
    CONSTRAINT customer_days_pkey PRIMARY KEY (store_id, customer_id, business_date)
);
ALTER TABLE customer_days ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON customer_days TO comanda_system USING (true);
CREATE POLICY one_store ON customer_days TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON customer_days TO comanda_app, comanda_system;

CREATE TABLE customer_email_changes (
    id text NOT NULL,
    store_id text NOT NULL,
    customer_id text NOT NULL,
    email text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT customer_email_changes_pkey PRIMARY KEY (id),
    CONSTRAINT customer_email_changes_store_id_customer_id_key UNIQUE (store_id, customer_id),
    CONSTRAINT customer_email_changes_token_hash_key UNIQUE (token_hash),
    CONSTRAINT customer_email_changes_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
    CONSTRAINT customer_email_changes_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
ALTER TABLE customer_email_changes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON customer_email_changes TO comanda_system USING (true);
CREATE POLICY one_store ON customer_email_changes TO comanda_app USING ((store_id =
        current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON customer_email_changes TO comanda_app, comanda_system;

CREATE TABLE customer_identities (
    store_id text NOT NULL,
    provider text NOT NULL,
    subject text NOT NULL,
    customer_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT customer_identities_pkey PRIMARY KEY (store_id, provider, subject),
    CONSTRAINT customer_identities_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
    CONSTRAINT customer_identities_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT customer_identities_provider_check CHECK ((provider = ANY (ARRAY['google'::text, 'apple'::text,
        'facebook'::text])))
);
CREATE INDEX customer_identities_of_customer ON customer_identities (store_id, customer_id);
ALTER TABLE customer_identities ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON customer_identities TO comanda_system USING (true);
CREATE POLICY one_store ON customer_identities TO comanda_app USING ((store_id =
        current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON customer_identities TO comanda_app, comanda_system;

CREATE TABLE customer_password_resets (
    id text NOT NULL,
    store_id text NOT NULL,
    customer_id text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT customer_password_resets_pkey PRIMARY KEY (id),
    CONSTRAINT customer_password_resets_token_hash_key UNIQUE (token_hash),
    CONSTRAINT customer_password_resets_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
    CONSTRAINT customer_password_resets_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
CREATE INDEX customer_password_resets_of_customer ON customer_password_resets (store_id, customer_id, created_at, id);
ALTER TABLE customer_password_resets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON customer_password_resets TO comanda_system USING (true);
CREATE POLICY one_store ON customer_password_resets TO comanda_app USING ((store_id =
        current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON customer_password_resets TO comanda_app, comanda_system;

CREATE TABLE customer_returns (
    store_id text NOT NULL,
    business_date date NOT NULL,
    seen_before date NOT NULL,
    customers bigint NOT NULL,
    CONSTRAINT customer_returns_pkey PRIMARY KEY (store_id, business_date, seen_before)
);
ALTER TABLE customer_returns ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON customer_returns TO comanda_system USING (true);
CREATE POLICY one_store ON customer_returns TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON customer_returns TO comanda_app, comanda_system;

CREATE TABLE customer_sessions (
    id text NOT NULL,
    store_id text NOT NULL,
    customer_id text NOT NULL,
    refresh_counter bigint NOT NULL DEFAULT 0,
    address text NOT NULL DEFAULT ''::text,
    user_agent text NOT NULL DEFAULT ''::text,
    created_at timestamp with time zone NOT NULL,
    rotated_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    end_reason text,
    CONSTRAINT customer_sessions_pkey PRIMARY KEY (id),
    CONSTRAINT customer_sessions_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
    CONSTRAINT customer_sessions_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT customer_sessions_check CHECK (((end_reason IS NULL) OR (ended_at IS NOT NULL))),
    CONSTRAINT customer_sessions_end_reason_check CHECK ((end_reason = ANY (ARRAY['logout'::text, 'reuse'::text,
        'ended'::text, 'password'::text, 'admin'::text, 'claim'::text])))
);
CREATE INDEX customer_sessions_of_customer ON customer_sessions (store_id, customer_id);
ALTER TABLE customer_sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON customer_sessions TO comanda_system USING (true);
CREATE POLICY one_store ON customer_sessions TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON customer_sessions TO comanda_app, comanda_system;

CREATE TABLE customers (
    id text NOT NULL,
    store_id text NOT NULL,
    kind text NOT NULL,
    email text COLLATE "C" NOT NULL DEFAULT ''::text,
    first_name text NOT NULL DEFAULT ''::text,
    last_name text NOT NULL DEFAULT ''::text,
    phone text NOT NULL DEFAULT ''::text,
    password_hash text NOT NULL DEFAULT ''::text,
    email_proven boolean NOT NULL DEFAULT false,
    loyalty_points bigint NOT NULL DEFAULT 0,
    total_orders bigint NOT NULL DEFAULT 0,
    external_id text NOT NULL DEFAULT ''::text,
    metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
    version bigint NOT NULL DEFAULT 1,
    business_date date NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    disabled_at timestamp with time zone,
    erased_at timestamp with time zone,
    search_name text COLLATE "C" GENERATED ALWAYS AS (lower(TRIM(BOTH FROM ((first_name || ' '::text) || last_name))))
        STORED,
    search_surname text COLLATE "C" GENERATED ALWAYS AS (
CASE
    WHEN (last_name <> ''::text) THEN lower(last_name)
    ELSE regexp_replace(lower(first_name), '^.*\s'::text, ''::text)
END) STORED,
    search_email text COLLATE "C" GENERATED ALWAYS AS (lower((email COLLATE "default"))) STORED,
    search_phone text COLLATE "C" GENERATED ALWAYS AS (phone) STORED,
    CONSTRAINT customers_pkey PRIMARY KEY (id),
    CONSTRAINT customers_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT customers_kind_check CHECK ((kind = ANY (ARRAY['guest'::text, 'registered'::text]))),
    CONSTRAINT guests_cannot_log_in CHECK (((kind = 'registered'::text) OR (password_hash = ''::text))),
    CONSTRAINT points_not_negative CHECK ((loyalty_points >= 0))
);
CREATE INDEX customers_by_day ON customers (store_id, business_date);
CREATE UNIQUE INDEX customers_by_email ON customers (store_id, kind, lower(email)) WHERE (email <> ''::text);
CREATE UNIQUE INDEX customers_by_external_id ON customers (store_id, external_id) WHERE (external_id <> ''::text);
CREATE INDEX customers_by_kind ON customers (store_id, kind, created_at, id);
CREATE INDEX customers_by_name ON customers (store_id, search_name);
CREATE INDEX customers_by_phone ON customers (store_id, search_phone, created_at, id);
CREATE INDEX customers_by_search_email ON customers (store_id, search_email);
CREATE INDEX customers_by_surname ON customers (store_id, search_surname);
CREATE INDEX customers_by_update ON customers (store_id, updated_at);
CREATE INDEX customers_newest ON customers (store_id, created_at, id);
CREATE UNIQUE INDEX guests_by_phone ON customers (store_id, phone) WHERE ((kind = 'guest'::text) AND (email = ''::text)
        AND (phone <> ''::text));
ALTER TABLE customers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON customers TO comanda_system USING (true);
CREATE POLICY one_store ON customers TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
CREATE TRIGGER end_customer_email_change AFTER UPDATE ON customers FOR EACH ROW WHEN (((new.email <> old.email) OR
        (new.password_hash <> old.password_hash) OR ((new.disabled_at IS NOT NULL) AND (old.disabled_at IS NULL))))
        EXECUTE FUNCTION end_customer_email_change();
CREATE TRIGGER end_customer_password_resets AFTER UPDATE ON customers FOR EACH ROW WHEN (((new.email <> old.email) OR
        (new.password_hash <> old.password_hash) OR ((new.disabled_at IS NOT NULL) AND (old.disabled_at IS NULL))))
        EXECUTE FUNCTION end_customer_password_resets();
GRANT DELETE, INSERT, SELECT, UPDATE ON customers TO comanda_app, comanda_system;

CREATE TABLE deliveries (
    id text NOT NULL,
    store_id text NOT NULL,
    event_id text NOT NULL,
    subscription_id text NOT NULL,
    event_type text NOT NULL,
    queue text NOT NULL,
    class smallint NOT NULL DEFAULT 0,
    status text NOT NULL,
    reason text NOT NULL DEFAULT ''::text,
    attempts integer NOT NULL DEFAULT 0,
    schedule_base integer NOT NULL DEFAULT 0,
    replays integer NOT NULL DEFAULT 0,
    replay_id text,
    resource text NOT NULL DEFAULT ''::text,
    position bigint NOT NULL DEFAULT 0,
    ordered boolean NOT NULL DEFAULT false,
    held boolean NOT NULL DEFAULT false,
    generation integer NOT NULL DEFAULT 0,
    burst_id text,
    counted_in timestamp with time zone,
    scheduled_for timestamp with time zone NOT NULL,
    lease_until timestamp with time zone,
    relay integer,
    started_at timestamp with time zone,
    next_retry_at timestamp with time zone,
    check_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT deliveries_pkey PRIMARY KEY (id),
    CONSTRAINT deliveries_event_id_subscription_id_key UNIQUE (event_id, subscription_id),
    CONSTRAINT deliveries_check CHECK (((NOT ordered) OR (resource <> ''::text))),
    CONSTRAINT deliveries_check1 CHECK (((NOT held) OR ordered)),
    CONSTRAINT deliveries_class_check CHECK (((class >= 0) AND (class <= 2))),
    CONSTRAINT deliveries_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'pending'::text, 'retrying'::text,
        'delivered'::text, 'dead_letter'::text, 'cancelled'::text])))
);
CREATE INDEX deliveries_claimable ON deliveries (queue, subscription_id, class, "position", event_id) WHERE ((status =
        'queued'::text) AND (NOT held));
CREATE INDEX deliveries_held ON deliveries (queue, subscription_id, resource, class, "position") WHERE ((status =
        'queued'::text) AND held);
CREATE INDEX deliveries_leased ON deliveries (lease_until) WHERE ((status = 'pending'::text) AND (started_at IS NULL));
CREATE INDEX deliveries_of_burst ON deliveries (burst_id) WHERE ((burst_id IS NOT NULL) AND (status = 'pending'::text));
CREATE INDEX deliveries_of_replay ON deliveries (replay_id, status) WHERE (replay_id IS NOT NULL);
CREATE INDEX deliveries_of_store ON deliveries (store_id, status, event_type, id) WHERE (status <> 'pending'::text);
CREATE INDEX deliveries_of_subscription ON deliveries (subscription_id, status, event_type, id) INCLUDE (store_id) WHERE
        (status <> 'pending'::text);
CREATE INDEX deliveries_ordered ON deliveries (subscription_id, resource) WHERE (ordered AND (status = ANY
        (ARRAY['pending'::text, 'retrying'::text])));
CREATE INDEX deliveries_pending ON deliveries (store_id, subscription_id) WHERE (status = 'pending'::text);
CREATE INDEX deliveries_strayed ON deliveries (subscription_id, status, id) WHERE (status = ANY (ARRAY['retrying'::text,
        'dead_letter'::text]));
CREATE INDEX deliveries_unfinished ON deliveries (queue, COALESCE(check_at, next_retry_at, started_at)) WHERE ((status =
        ANY (ARRAY['pending'::text, 'retrying'::text])) AND (COALESCE(check_at, next_retry_at, started_at) IS NOT
        NULL));
ALTER TABLE deliveries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON deliveries TO comanda_system USING (true);
CREATE POLICY one_store ON deliveries TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
CREATE TRIGGER settle_changed AFTER UPDATE ON deliveries REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH
        STATEMENT WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION settle_changed();
CREATE TRIGGER settle_queued AFTER INSERT ON deliveries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE
        FUNCTION settle_queued();
GRANT DELETE, INSERT, SELECT, UPDATE ON deliveries TO comanda_app, comanda_system;

CREATE TABLE event_heads (
    store_id text NOT NULL,
    position bigint NOT NULL,
    previous bigint NOT NULL,
    taken bigint NOT NULL,
    erased bigint NOT NULL DEFAULT 0,
    CONSTRAINT event_heads_pkey PRIMARY KEY (store_id)
) WITH (fillfactor=50);
ALTER TABLE event_heads ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON event_heads TO comanda_system USING (true);
CREATE POLICY one_store ON event_heads TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON event_heads TO comanda_app, comanda_system;

CREATE TABLE event_log (
    id text NOT NULL,
    store_id text NOT NULL,
    position bigint NOT NULL,
    type text NOT NULL,
    CONSTRAINT event_log_pkey PRIMARY KEY (id),
    CONSTRAINT event_log_store_id_position_key UNIQUE (store_id, "position")
);
CREATE INDEX event_log_of_type ON event_log (store_id, type, "position");
ALTER TABLE event_log ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON event_log TO comanda_system USING (true);
CREATE POLICY one_store ON event_log TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON event_log TO comanda_app, comanda_system;

CREATE TABLE idempotency_keys (
    store_id text NOT NULL,
    credential text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    response bytea NOT NULL,
    existed boolean NOT NULL DEFAULT false,
    subject text NOT NULL DEFAULT ''::text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (store_id, credential, route, key),
    CONSTRAINT idempotency_keys_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_of_subject ON idempotency_keys (store_id, subject);
ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON idempotency_keys TO comanda_system USING (true);
CREATE POLICY one_store ON idempotency_keys TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON idempotency_keys TO comanda_app, comanda_system;

CREATE TABLE invitations (
    id text NOT NULL,
    website_id text NOT NULL,
    email text COLLATE "C" NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    store_ids text[] NOT NULL,
    token_hash bytea NOT NULL,
    mailed boolean NOT NULL DEFAULT false,
    failures integer NOT NULL DEFAULT 0,
    invited_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accepted_at timestamp with time zone,
    CONSTRAINT invitations_pkey PRIMARY KEY (id),
    CONSTRAINT invitations_token_hash_key UNIQUE (token_hash),
    CONSTRAINT invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users(id),
    CONSTRAINT invitations_website_id_fkey FOREIGN KEY (website_id) REFERENCES websites(id),
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['OWNER'::text, 'ADMIN'::text, 'MANAGER'::text,
        'STAFF'::text]))),
    CONSTRAINT invitations_store_ids_check CHECK ((cardinality(store_ids) > 0))
);
CREATE INDEX invitations_by_inviter ON invitations (invited_by) WHERE (accepted_at IS NULL);
CREATE UNIQUE INDEX invitations_pending ON invitations (website_id, lower(email)) WHERE (accepted_at IS NULL);
GRANT DELETE, INSERT, SELECT, UPDATE ON invitations TO comanda_system;

CREATE TABLE jobs (
    id text NOT NULL,
    store_id text NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    urgent boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    CONSTRAINT jobs_pkey PRIMARY KEY (id),
    CONSTRAINT jobs_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
CREATE INDEX jobs_free ON jobs (urgent, queue, lease_until, id);
CREATE INDEX jobs_of_subject ON jobs (subject, kind);
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON jobs TO comanda_system USING (true);
CREATE POLICY one_store ON jobs TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON jobs TO comanda_app, comanda_system;

CREATE TABLE loyalty_entries (
    id text NOT NULL,
    store_id text NOT NULL,
    customer_id text NOT NULL,
    order_id text NOT NULL,
    refund_id text,
    kind text NOT NULL,
    points bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT loyalty_entries_pkey PRIMARY KEY (id),
    CONSTRAINT loyalty_entries_refund_id_key UNIQUE (refund_id),
    CONSTRAINT loyalty_entries_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
    CONSTRAINT loyalty_entries_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
    CONSTRAINT loyalty_entries_refund_id_fkey FOREIGN KEY (refund_id) REFERENCES refunds(id),
    CONSTRAINT loyalty_entries_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT loyalty_entries_check CHECK (((kind = 'REVERSED'::text) = (refund_id IS NOT NULL))),
    CONSTRAINT loyalty_entries_check1 CHECK (
CASE
    WHEN (kind = ANY (ARRAY['REVERSED'::text, 'REDEEMED'::text])) THEN (points < 0)
    ELSE (points > 0)
END),
    CONSTRAINT loyalty_entries_kind_check CHECK ((kind = ANY (ARRAY['EARNED'::text, 'REVERSED'::text, 'RESTORED'::text,
        'REDEEMED'::text, 'RETURNED'::text])))
);
CREATE INDEX loyalty_of_customer ON loyalty_entries (store_id, customer_id, created_at, id);
CREATE INDEX loyalty_of_order ON loyalty_entries (store_id, order_id);
CREATE UNIQUE INDEX loyalty_once ON loyalty_entries (order_id) WHERE (kind = 'EARNED'::text);
ALTER TABLE loyalty_entries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON loyalty_entries TO comanda_system USING (true);
CREATE POLICY one_store ON loyalty_entries TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON loyalty_entries TO comanda_app, comanda_system;

CREATE TABLE mails (
    id text NOT NULL,
    store_id text NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    recipient text,
    details jsonb NOT NULL,
    secret bytea,
    status text NOT NULL DEFAULT 'queued'::text,
    reason text NOT NULL DEFAULT ''::text,
    lease_until timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT mails_pkey PRIMARY KEY (id),
    CONSTRAINT mails_recipient_fkey FOREIGN KEY (recipient) REFERENCES users(id),
    CONSTRAINT mails_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT mails_check CHECK (((status = 'queued'::text) = (ended_at IS NULL))),
    CONSTRAINT mails_check1 CHECK (((secret IS NULL) OR (ended_at IS NULL))),
    CONSTRAINT mails_kind_check CHECK ((kind = ANY (ARRAY['invitation'::text, 'webhook_warning'::text,
        'webhook_deactivated'::text, 'password_reset'::text, 'customer_password_reset'::text, 'order_reminder'::text,
        'order_cancelled'::text, 'customer_email_change'::text, 'customer_email_notice'::text]))),
    CONSTRAINT mails_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'sent'::text, 'obsolete'::text,
        'failed'::text])))
);
CREATE INDEX mails_of_recipient ON mails (store_id, recipient, kind, created_at) WHERE (recipient IS NOT NULL);
CREATE INDEX mails_of_subject ON mails (subject) WHERE (ended_at IS NULL);
CREATE INDEX mails_queued ON mails (queue, lease_until, id) WHERE (status = 'queued'::text);
ALTER TABLE mails ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON mails TO comanda_system USING (true);
CREATE POLICY one_store ON mails TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON mails TO comanda_app, comanda_system;

CREATE TABLE memberships (
    user_id text NOT NULL,
    store_id text NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT memberships_pkey PRIMARY KEY (user_id, store_id),
    CONSTRAINT memberships_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
    CONSTRAINT memberships_role_check CHECK ((role = ANY (ARRAY['OWNER'::text, 'ADMIN'::text, 'MANAGER'::text,
        'STAFF'::text])))
);
CREATE INDEX memberships_by_store ON memberships (store_id);
ALTER TABLE memberships ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON memberships TO comanda_system USING (true);
CREATE POLICY one_store ON memberships TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
CREATE TRIGGER end_invitations_on_demotion AFTER UPDATE ON memberships FOR EACH ROW WHEN (((old.role = 'OWNER'::text)
        AND (new.role <> 'OWNER'::text))) EXECUTE FUNCTION end_invitations_of_member();
CREATE TRIGGER end_invitations_on_removal AFTER DELETE ON memberships FOR EACH ROW WHEN ((old.role = 'OWNER'::text))
        EXECUTE FUNCTION end_invitations_of_member();
CREATE TRIGGER mirror_membership AFTER INSERT OR DELETE OR UPDATE ON memberships FOR EACH ROW EXECUTE FUNCTION
        mirror_membership();
GRANT DELETE, INSERT, SELECT, UPDATE ON memberships TO comanda_app, comanda_system;

CREATE TABLE open_streams (
    request_id text NOT NULL,
    store_id text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT open_streams_pkey PRIMARY KEY (request_id),
    CONSTRAINT open_streams_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
CREATE INDEX open_streams_of_store ON open_streams (store_id);
ALTER TABLE open_streams ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON open_streams TO comanda_system USING (true);
CREATE POLICY one_store ON open_streams TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON open_streams TO comanda_app, comanda_system;

CREATE TABLE option_sales (
    store_id text NOT NULL,
    business_date date NOT NULL,
    product_id text NOT NULL,
    group_id text NOT NULL,
    option_id text NOT NULL,
    currency text NOT NULL,
    group_name text NOT NULL,
    name text NOT NULL,
    quantity bigint NOT NULL,
    net_minor numeric NOT NULL,
    CONSTRAINT option_sales_pkey PRIMARY KEY (store_id, business_date, product_id, group_id, option_id, currency)
);
ALTER TABLE option_sales ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON option_sales TO comanda_system USING (true);
CREATE POLICY one_store ON option_sales TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON option_sales TO comanda_app, comanda_system;

CREATE TABLE order_history (
    order_id text NOT NULL,
    store_id text NOT NULL,
    version bigint NOT NULL,
    from_status text,
    to_status text,
    reason text NOT NULL,
    changed_fields jsonb,
    item_changes jsonb,
    before jsonb,
    former_customer text,
    event_number bigint,
    actor_realm text NOT NULL,
    actor_id text NOT NULL,
    event_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT order_history_pkey PRIMARY KEY (order_id, version),
    CONSTRAINT order_history_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
    CONSTRAINT order_history_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT order_history_check CHECK ((((to_status IS NULL) = (changed_fields IS NOT NULL)) AND ((to_status IS NULL)
        = (item_changes IS NOT NULL))))
);
CREATE INDEX order_history_former_customer ON order_history (store_id, former_customer) WHERE (former_customer IS NOT
        NULL);
ALTER TABLE order_history ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON order_history TO comanda_system USING (true);
CREATE POLICY one_store ON order_history TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON order_history TO comanda_app, comanda_system;

CREATE TABLE order_items (
    order_id text NOT NULL,
    id text NOT NULL,
    store_id text NOT NULL,
    position smallint NOT NULL,
    product_id text NOT NULL,
    product_name text NOT NULL,
    sku text NOT NULL DEFAULT ''::text,
    options jsonb NOT NULL DEFAULT '[]'::jsonb,
    note text NOT NULL DEFAULT ''::text,
    quantity bigint NOT NULL,
    unit_price_minor bigint NOT NULL,
    is_priced boolean NOT NULL DEFAULT false,
    total_minor bigint NOT NULL,
    discount_minor bigint NOT NULL,
    tax_rate_ppm bigint NOT NULL,
    stock_taken bigint NOT NULL DEFAULT 0,
    business_date date NOT NULL,
    done_at timestamp with time zone,
    CONSTRAINT order_items_pkey PRIMARY KEY (order_id, id),
    CONSTRAINT order_items_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
    CONSTRAINT order_items_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT order_items_check CHECK ((total_minor = (unit_price_minor * quantity))),
    CONSTRAINT order_items_check1 CHECK (((discount_minor >= 0) AND (discount_minor <= total_minor))),
    CONSTRAINT order_items_check2 CHECK (((stock_taken >= 0) AND (stock_taken <= quantity))),
    CONSTRAINT order_items_check3 CHECK (((product_id <> ''::text) OR is_priced)),
    CONSTRAINT order_items_quantity_check CHECK (((quantity >= 1) AND (quantity <= 999)))
);
ALTER TABLE order_items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON order_items TO comanda_system USING (true);
CREATE POLICY one_store ON order_items TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
CREATE TRIGGER count_items AFTER INSERT ON order_items REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE
        FUNCTION count_items();
CREATE TRIGGER count_options AFTER INSERT ON order_items REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE
        FUNCTION count_options();
CREATE TRIGGER uncount_items AFTER DELETE ON order_items REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE
        FUNCTION uncount_items();
GRANT DELETE, INSERT, SELECT, UPDATE ON order_items TO comanda_app, comanda_system;

CREATE TABLE order_numbers (
    store_id text NOT NULL,
    last bigint NOT NULL,
    CONSTRAINT order_numbers_pkey PRIMARY KEY (store_id),
    CONSTRAINT order_numbers_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id)
);
ALTER TABLE order_numbers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON order_numbers TO comanda_system USING (true);
CREATE POLICY one_store ON order_numbers TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON order_numbers TO comanda_app, comanda_system;

CREATE TABLE orders (
    id text NOT NULL,
    store_id text NOT NULL,
    number bigint NOT NULL,
    store_view_id text NOT NULL,
    status text NOT NULL,
    previous_status text,
    cancellation_reason text NOT NULL DEFAULT ''::text,
    fulfillment_type text NOT NULL,
    source text NOT NULL,
    channel text,
    customer_id text,
    customer_name text NOT NULL,
    customer_email text NOT NULL,
    customer_phone text NOT NULL,
    delivery_address jsonb,
    table_label text NOT NULL DEFAULT ''::text,
    note text NOT NULL,
    requested_for timestamp with time zone,
    promised_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone,
    item_count bigint NOT NULL,
    subtotal_minor bigint NOT NULL,
    discount_minor bigint NOT NULL,
    loyalty_points bigint NOT NULL DEFAULT 0,
    loyalty_minor bigint NOT NULL DEFAULT 0,
    delivery_fee_minor bigint NOT NULL,
    delivery_fee_tax_ppm bigint,
    tax_minor bigint NOT NULL,
    tax_included boolean NOT NULL,
    taxes jsonb NOT NULL DEFAULT '[]'::jsonb,
    total_minor bigint NOT NULL,
    currency text NOT NULL,
    paid_minor bigint NOT NULL DEFAULT 0,
    refunded_minor bigint NOT NULL DEFAULT 0,
    compensated_minor bigint NOT NULL DEFAULT 0,
    external_id text NOT NULL DEFAULT ''::text,
    metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
    business_date date NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    printed_version bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    search_name text COLLATE "C" GENERATED ALWAYS AS (lower(customer_name)) STORED,
    search_surname text COLLATE "C" GENERATED ALWAYS AS (regexp_replace(lower(customer_name), '^.*\s'::text, ''::text))
        STORED,
    search_email text COLLATE "C" GENERATED ALWAYS AS (lower(customer_email)) STORED,
    search_phone text COLLATE "C" GENERATED ALWAYS AS (customer_phone) STORED,
    CONSTRAINT orders_pkey PRIMARY KEY (id),
    CONSTRAINT orders_store_id_number_key UNIQUE (store_id, number),
    CONSTRAINT orders_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
    CONSTRAINT orders_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT orders_channel_check CHECK ((channel <> ''::text)),
    CONSTRAINT orders_check CHECK (((discount_minor >= 0) AND (discount_minor <= subtotal_minor))),
    CONSTRAINT orders_check1 CHECK (((refunded_minor >= 0) AND (refunded_minor <= paid_minor))),
    CONSTRAINT orders_check2 CHECK (((compensated_minor >= 0) AND (compensated_minor <= refunded_minor))),
    CONSTRAINT orders_check3 CHECK ((((loyalty_points > 0) = (loyalty_minor > 0)) AND (loyalty_points >= 0) AND
        (loyalty_minor >= 0))),
    CONSTRAINT orders_check4 CHECK (((discount_minor + loyalty_minor) <= subtotal_minor)),
    CONSTRAINT orders_check5 CHECK ((total_minor = ((((subtotal_minor - discount_minor) - loyalty_minor) +
        delivery_fee_minor) +
CASE
    WHEN tax_included THEN (0)::bigint
    ELSE tax_minor
END))),
    CONSTRAINT orders_check6 CHECK (((fulfillment_type = 'DELIVERY'::text) = (delivery_address IS NOT NULL))),
    CONSTRAINT orders_check7 CHECK (((requested_for IS NULL) = (due_at IS NULL))),
    CONSTRAINT orders_delivery_fee_minor_check CHECK ((delivery_fee_minor >= 0)),
    CONSTRAINT orders_fulfillment_type_check CHECK ((fulfillment_type = ANY (ARRAY['DELIVERY'::text, 'PICKUP'::text,
        'DINE_IN'::text]))),
    CONSTRAINT orders_item_count_check CHECK ((item_count > 0)),
    CONSTRAINT orders_paid_minor_check CHECK ((paid_minor >= 0)),
    CONSTRAINT orders_source_check CHECK ((source = ANY (ARRAY['WEB'::text, 'MOBILE'::text, 'POS'::text, 'PHONE'::text,
        'API'::text]))),
    CONSTRAINT orders_status_check CHECK ((status = ANY (ARRAY['RECEIVED'::text, 'CONFIRMED'::text, 'PREPARING'::text,
        'READY'::text, 'OUT_FOR_DELIVERY'::text, 'COMPLETED'::text, 'CANCELLED'::text]))),
    CONSTRAINT orders_subtotal_minor_check CHECK ((subtotal_minor >= 0)),
    CONSTRAINT orders_tax_minor_check CHECK ((tax_minor >= 0)),
    CONSTRAINT orders_total_minor_check CHECK ((total_minor <= '9007199254740991'::bigint))
);
CREATE INDEX orders_by_business_date ON orders (store_id, business_date, created_at, id);
CREATE INDEX orders_by_customer ON orders (store_id, customer_id, created_at, id);
CREATE INDEX orders_by_email ON orders (store_id, search_email);
CREATE UNIQUE INDEX orders_by_external_id ON orders (store_id, external_id) WHERE (external_id <> ''::text);
CREATE INDEX orders_by_fulfillment ON orders (store_id, fulfillment_type, created_at, id);
CREATE INDEX orders_by_name ON orders (store_id, search_name);
CREATE INDEX orders_by_phone ON orders (store_id, search_phone);
CREATE INDEX orders_by_source ON orders (store_id, source, created_at, id);
CREATE INDEX orders_by_status ON orders (store_id, status, created_at, id);
CREATE INDEX orders_by_surname ON orders (store_id, search_surname);
CREATE INDEX orders_by_update ON orders (store_id, updated_at);
CREATE INDEX orders_due ON orders (store_id, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX orders_newest ON orders (store_id, created_at, id);
CREATE INDEX orders_to_refund ON orders (store_id, created_at, id) WHERE ((paid_minor - refunded_minor) >
CASE status
    WHEN 'CANCELLED'::text THEN (0)::bigint
    ELSE total_minor
END);
ALTER TABLE orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON orders TO comanda_system USING (true);
CREATE POLICY one_store ON orders TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
CREATE TRIGGER count_amended AFTER UPDATE OF customer_id, subtotal_minor, discount_minor, tax_minor, delivery_fee_minor,
        item_count ON orders FOR EACH ROW WHEN (((old.status <> 'CANCELLED'::text) AND ((((((old.customer_id IS DISTINCT
        FROM new.customer_id) OR (old.subtotal_minor IS DISTINCT FROM new.subtotal_minor)) OR (old.discount_minor IS
        DISTINCT FROM new.discount_minor)) OR (old.tax_minor IS DISTINCT FROM new.tax_minor)) OR (old.delivery_fee_minor
        IS DISTINCT FROM new.delivery_fee_minor)) OR (old.item_count IS DISTINCT FROM new.item_count)))) EXECUTE
        FUNCTION count_amended();
CREATE TRIGGER count_cancelled AFTER UPDATE OF status ON orders FOR EACH ROW WHEN (((old.status = 'CANCELLED'::text) <>
        (new.status = 'CANCELLED'::text))) EXECUTE FUNCTION count_order();
CREATE TRIGGER count_placed AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION count_order();
CREATE TRIGGER uncount_options AFTER UPDATE OF status ON orders FOR EACH ROW WHEN (((old.status <> 'CANCELLED'::text)
        AND (new.status = 'CANCELLED'::text))) EXECUTE FUNCTION uncount_options();
GRANT DELETE, INSERT, SELECT, UPDATE ON orders TO comanda_app, comanda_system;

CREATE TABLE outbox (
    id text NOT NULL,
    number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    store_id text NOT NULL,
    type text NOT NULL,
    subject text NOT NULL DEFAULT ''::text,
    body text,
    trace_context text,
    occurred_at timestamp with time zone NOT NULL,
    erasing text,
    CONSTRAINT outbox_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_trace_context_check CHECK ((length(trace_context) <= 128))
);
CREATE INDEX outbox_erasing ON outbox (erasing, id) WHERE (erasing IS NOT NULL);
CREATE INDEX outbox_kept ON outbox (occurred_at, id) WHERE (body IS NOT NULL);
CREATE INDEX outbox_of_subject ON outbox (subject);
ALTER TABLE outbox ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON outbox TO comanda_system USING (true);
CREATE POLICY one_store ON outbox TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON outbox TO comanda_app, comanda_system;

CREATE TABLE password_resets (
    id text NOT NULL,
    user_id text NOT NULL,
    token_hash bytea NOT NULL,
    mailed boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT password_resets_pkey PRIMARY KEY (id),
    CONSTRAINT password_resets_token_hash_key UNIQUE (token_hash),
    CONSTRAINT password_resets_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX password_resets_of_user ON password_resets (user_id, created_at, id);
GRANT DELETE, INSERT, SELECT ON password_resets TO comanda_system;

CREATE TABLE payments (
    id text NOT NULL,
    store_id text NOT NULL,
    order_id text NOT NULL,
    provider text NOT NULL,
    transaction_id text NOT NULL,
    status text NOT NULL,
    amount_minor bigint NOT NULL,
    tip_minor bigint NOT NULL DEFAULT 0,
    currency text NOT NULL,
    payment_method text NOT NULL,
    channel text,
    card_last4 text NOT NULL,
    error_code text NOT NULL,
    refunded_minor bigint NOT NULL DEFAULT 0,
    refunded_tip bigint NOT NULL DEFAULT 0,
    order_version bigint NOT NULL DEFAULT 1,
    business_date date NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT payments_pkey PRIMARY KEY (id),
    CONSTRAINT payments_store_id_provider_transaction_id_key UNIQUE (store_id, provider, transaction_id),
    CONSTRAINT payments_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
    CONSTRAINT payments_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT payments_amount_minor_check CHECK (((amount_minor >= 1) AND (amount_minor <=
        '9007199254740991'::bigint))),
    CONSTRAINT payments_check CHECK (((tip_minor >= 0) AND (tip_minor <= amount_minor))),
    CONSTRAINT payments_check1 CHECK (((status = 'FAILED'::text) = (error_code <> ''::text))),
    CONSTRAINT payments_check2 CHECK (((refunded_minor >= 0) AND (refunded_minor <=
CASE status
    WHEN 'SUCCEEDED'::text THEN (amount_minor - tip_minor)
    ELSE (0)::bigint
END))),
    CONSTRAINT payments_check3 CHECK (((refunded_tip >= 0) AND (refunded_tip <=
CASE status
    WHEN 'SUCCEEDED'::text THEN tip_minor
    ELSE (0)::bigint
END))),
    CONSTRAINT payments_provider_check CHECK ((provider = upper(provider))),
    CONSTRAINT payments_status_check CHECK ((status = ANY (ARRAY['SUCCEEDED'::text, 'FAILED'::text])))
);
CREATE INDEX payments_by_day ON payments (store_id, business_date) INCLUDE (provider, payment_method, channel, currency,
        amount_minor, tip_minor) WHERE (status = 'SUCCEEDED'::text);
CREATE INDEX payments_by_provider ON payments (store_id, provider, created_at, id);
CREATE INDEX payments_by_status ON payments (store_id, status, created_at, id);
CREATE INDEX payments_newest ON payments (store_id, created_at, id);
CREATE INDEX payments_of_order ON payments (store_id, order_id, created_at, id);
ALTER TABLE payments ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON payments TO comanda_system USING (true);
CREATE POLICY one_store ON payments TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON payments TO comanda_app, comanda_system;

CREATE TABLE plan_windows (
    queue text NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    started bigint NOT NULL DEFAULT 0,
    replays_started bigint NOT NULL DEFAULT 0,
    CONSTRAINT plan_windows_pkey PRIMARY KEY (queue, starts_at)
);
GRANT DELETE, INSERT, SELECT, UPDATE ON plan_windows TO comanda_system;

CREATE TABLE platform_audit (
    id text NOT NULL,
    action text NOT NULL,
    actor_realm text NOT NULL,
    actor_id text NOT NULL,
    target text NOT NULL,
    details jsonb NOT NULL,
    address text NOT NULL,
    request_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT platform_audit_pkey PRIMARY KEY (id)
);
CREATE INDEX platform_audit_by_action ON platform_audit (action, at, id);
CREATE INDEX platform_audit_by_actor ON platform_audit (actor_id, at, id);
CREATE INDEX platform_audit_by_target ON platform_audit (target, at, id);
CREATE INDEX platform_audit_newest ON platform_audit (at, id);
CREATE TRIGGER platform_audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON platform_audit FOR EACH STATEMENT
        EXECUTE FUNCTION refuse_change();
GRANT INSERT, SELECT ON platform_audit TO comanda_system;

CREATE TABLE platform_idempotency_keys (
    credential text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    response bytea NOT NULL,
    existed boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT platform_idempotency_keys_pkey PRIMARY KEY (credential, route, key)
);
CREATE INDEX platform_idempotency_keys_age ON platform_idempotency_keys (created_at);
GRANT DELETE, INSERT, SELECT, UPDATE ON platform_idempotency_keys TO comanda_system;

CREATE TABLE product_sales (
    store_id text NOT NULL,
    business_date date NOT NULL,
    product_id text NOT NULL,
    currency text NOT NULL,
    quantity bigint NOT NULL,
    net_minor numeric NOT NULL,
    CONSTRAINT product_sales_pkey PRIMARY KEY (store_id, business_date, product_id, currency)
);
ALTER TABLE product_sales ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON product_sales TO comanda_system USING (true);
CREATE POLICY one_store ON product_sales TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON product_sales TO comanda_app, comanda_system;

CREATE TABLE products (
    id text NOT NULL,
    store_id text NOT NULL,
    sku text NOT NULL DEFAULT ''::text,
    name text NOT NULL,
    description text NOT NULL DEFAULT ''::text,
    category text NOT NULL DEFAULT ''::text,
    position bigint NOT NULL DEFAULT 0,
    image_url text NOT NULL DEFAULT ''::text,
    price_minor bigint NOT NULL,
    currency text NOT NULL,
    prices jsonb NOT NULL DEFAULT '{}'::jsonb,
    tax_rate_ppm bigint,
    translations jsonb NOT NULL DEFAULT '{}'::jsonb,
    option_groups jsonb NOT NULL DEFAULT '[]'::jsonb,
    is_available boolean NOT NULL DEFAULT true,
    stock_quantity bigint,
    sold_out_until timestamp with time zone,
    external_id text NOT NULL DEFAULT ''::text,
    metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT products_pkey PRIMARY KEY (id),
    CONSTRAINT products_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT products_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT products_price_minor_check CHECK (((price_minor >= 0) AND (price_minor <= '1000000000000'::bigint))),
    CONSTRAINT products_stock_quantity_check CHECK ((stock_quantity >= 0)),
    CONSTRAINT products_tax_rate_ppm_check CHECK (((tax_rate_ppm >= 0) AND (tax_rate_ppm <= 1000000)))
);
CREATE UNIQUE INDEX products_by_external_id ON products (store_id, external_id) WHERE ((external_id <> ''::text) AND
        (deleted_at IS NULL));
CREATE INDEX products_by_position ON products (store_id, category COLLATE "C", "position", id) WHERE (deleted_at IS
        NULL);
CREATE UNIQUE INDEX products_by_sku ON products (store_id, sku) WHERE ((sku <> ''::text) AND (deleted_at IS NULL));
CREATE INDEX products_newest ON products (store_id, created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX products_sold_out ON products (sold_out_until, id) WHERE ((sold_out_until IS NOT NULL) AND (deleted_at IS
        NULL));
CREATE INDEX products_with_deleted ON products (store_id, created_at, id);
ALTER TABLE products ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON products TO comanda_system USING (true);
CREATE POLICY one_store ON products TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON products TO comanda_app, comanda_system;

CREATE TABLE rate_limits (
    key bytea NOT NULL,
    hits timestamp with time zone[] NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT rate_limits_pkey PRIMARY KEY (key)
);
CREATE INDEX rate_limits_expired ON rate_limits (expires_at);
GRANT DELETE, INSERT, SELECT, UPDATE ON rate_limits TO comanda_system;

CREATE TABLE refunds (
    id text NOT NULL,
    store_id text NOT NULL,
    payment_id text NOT NULL,
    order_id text NOT NULL,
    provider text NOT NULL,
    amount_minor bigint NOT NULL,
    tip_minor bigint NOT NULL DEFAULT 0,
    currency text NOT NULL,
    reason text NOT NULL,
    provider_refund_id text NOT NULL,
    order_version bigint NOT NULL DEFAULT 1,
    business_date date NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT refunds_pkey PRIMARY KEY (id),
    CONSTRAINT refunds_store_id_provider_provider_refund_id_key UNIQUE (store_id, provider, provider_refund_id),
    CONSTRAINT refunds_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
    CONSTRAINT refunds_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
    CONSTRAINT refunds_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT refunds_amount_minor_check CHECK ((amount_minor > 0)),
    CONSTRAINT refunds_check CHECK (((tip_minor >= 0) AND (tip_minor <= amount_minor)))
);
CREATE INDEX refunds_by_day ON refunds (store_id, business_date) INCLUDE (payment_id, currency, amount_minor, tip_minor,
        created_at);
CREATE INDEX refunds_of_order ON refunds (store_id, order_id);
CREATE INDEX refunds_of_payment ON refunds (store_id, payment_id, created_at, id);
ALTER TABLE refunds ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON refunds TO comanda_system USING (true);
CREATE POLICY one_store ON refunds TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON refunds TO comanda_app, comanda_system;

CREATE TABLE replay_items (
    replay_id text NOT NULL,
    store_id text NOT NULL,
    position bigint NOT NULL,
    id text NOT NULL,
    CONSTRAINT replay_items_pkey PRIMARY KEY (replay_id, "position", id),
    CONSTRAINT replay_items_replay_id_fkey FOREIGN KEY (replay_id) REFERENCES replays(id) ON DELETE CASCADE
);
ALTER TABLE replay_items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON replay_items TO comanda_system USING (true);
CREATE POLICY one_store ON replay_items TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON replay_items TO comanda_app, comanda_system;

CREATE TABLE replays (
    id text NOT NULL,
    store_id text NOT NULL,
    subscription_id text,
    event_type text,
    delivery_status text NOT NULL,
    delivery_reason text,
    created_from timestamp with time zone NOT NULL,
    created_to timestamp with time zone NOT NULL,
    status text NOT NULL,
    reason text NOT NULL DEFAULT ''::text,
    matched bigint NOT NULL DEFAULT 0,
    replayed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    listed boolean NOT NULL DEFAULT false,
    cursor text NOT NULL DEFAULT ''::text,
    position bigint NOT NULL DEFAULT 0,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT replays_pkey PRIMARY KEY (id),
    CONSTRAINT replays_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT replays_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES subscriptions(id),
    CONSTRAINT replays_check CHECK (((status = 'running'::text) = (ended_at IS NULL))),
    CONSTRAINT replays_delivery_status_check CHECK ((delivery_status = ANY (ARRAY['delivered'::text,
        'dead_letter'::text, 'cancelled'::text, 'missed'::text]))),
    CONSTRAINT replays_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text,
        'cancelled'::text])))
);
CREATE INDEX replays_of_store ON replays (store_id, id);
CREATE INDEX replays_running ON replays (created_at, id) WHERE (status = 'running'::text);
ALTER TABLE replays ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON replays TO comanda_system USING (true);
CREATE POLICY one_store ON replays TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON replays TO comanda_app, comanda_system;

CREATE TABLE reservations (
    id text NOT NULL,
    store_id text NOT NULL,
    status text NOT NULL,
    cancellation_reason text NOT NULL DEFAULT ''::text,
    customer_id text,
    customer_name text NOT NULL,
    customer_email text NOT NULL,
    customer_phone text NOT NULL,
    party_size integer NOT NULL,
    table_label text NOT NULL DEFAULT ''::text,
    start_at timestamp with time zone NOT NULL,
    end_at timestamp with time zone NOT NULL,
    notes text NOT NULL,
    confirmed_realm text,
    confirmed_by text,
    confirmed_at timestamp with time zone,
    external_id text NOT NULL DEFAULT ''::text,
    metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    erased_at timestamp with time zone,
    search_name text COLLATE "C" GENERATED ALWAYS AS (lower(customer_name)) STORED,
    search_surname text COLLATE "C" GENERATED ALWAYS AS (regexp_replace(lower(customer_name), '^.*\s'::text, ''::text))
        STORED,
    search_email text COLLATE "C" GENERATED ALWAYS AS (lower(customer_email)) STORED,
    search_phone text COLLATE "C" GENERATED ALWAYS AS (customer_phone) STORED,
    CONSTRAINT reservations_pkey PRIMARY KEY (id),
    CONSTRAINT reservations_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customers(id),
    CONSTRAINT reservations_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT reservations_check CHECK (((end_at > start_at) AND (end_at <= (start_at + '24:00:00'::interval)))),
    CONSTRAINT reservations_check1 CHECK ((((confirmed_at IS NULL) = (confirmed_by IS NULL)) AND ((confirmed_at IS NULL)
        = (confirmed_realm IS NULL)))),
    CONSTRAINT reservations_party_size_check CHECK (((party_size >= 1) AND (party_size <= 500))),
    CONSTRAINT reservations_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'CONFIRMED'::text,
        'CANCELLED'::text, 'COMPLETED'::text, 'NO_SHOW'::text])))
);
CREATE INDEX reservations_by_customer ON reservations (store_id, customer_id, start_at, id) WHERE (customer_id IS NOT
        NULL);
CREATE INDEX reservations_by_email ON reservations (store_id, search_email);
CREATE UNIQUE INDEX reservations_by_external_id ON reservations (store_id, external_id) WHERE (external_id <> ''::text);
CREATE INDEX reservations_by_name ON reservations (store_id, search_name);
CREATE INDEX reservations_by_phone ON reservations (store_id, search_phone);
CREATE INDEX reservations_by_start ON reservations (store_id, start_at, id);
CREATE INDEX reservations_by_surname ON reservations (store_id, search_surname);
CREATE INDEX reservations_by_update ON reservations (store_id, updated_at);
CREATE INDEX reservations_seated ON reservations (store_id, start_at) INCLUDE (end_at, party_size) WHERE (status = ANY
        (ARRAY['PENDING'::text, 'CONFIRMED'::text]));
ALTER TABLE reservations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON reservations TO comanda_system USING (true);
CREATE POLICY one_store ON reservations TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON reservations TO comanda_app, comanda_system;

CREATE TABLE sales (
    store_id text NOT NULL,
    business_date date NOT NULL,
    quarter timestamp with time zone NOT NULL,
    channel text NOT NULL,
    fulfillment_type text NOT NULL,
    currency text NOT NULL,
    orders bigint NOT NULL,
    guest_orders bigint NOT NULL,
    cancelled_orders bigint NOT NULL,
    gross_minor numeric NOT NULL,
    discount_minor numeric NOT NULL,
    tax_minor numeric NOT NULL,
    delivery_fee_minor numeric NOT NULL,
    items_sold bigint NOT NULL,
    CONSTRAINT sales_pkey PRIMARY KEY (store_id, business_date, quarter, channel, fulfillment_type, currency)
);
ALTER TABLE sales ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON sales TO comanda_system USING (true);
CREATE POLICY one_store ON sales TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON sales TO comanda_app, comanda_system;

CREATE TABLE sessions (
    id text NOT NULL,
    user_id text NOT NULL,
    active_store_id text,
    active_view_id text,
    refresh_counter bigint NOT NULL DEFAULT 0,
    proven_at timestamp with time zone NOT NULL,
    address text NOT NULL DEFAULT ''::text,
    user_agent text NOT NULL DEFAULT ''::text,
    created_at timestamp with time zone NOT NULL,
    rotated_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    end_reason text,
    CONSTRAINT sessions_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_active_store_id_fkey FOREIGN KEY (active_store_id) REFERENCES stores(id),
    CONSTRAINT sessions_active_view_id_fkey FOREIGN KEY (active_view_id) REFERENCES store_views(id),
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
    CONSTRAINT sessions_check CHECK (((active_store_id IS NULL) = (active_view_id IS NULL))),
    CONSTRAINT sessions_check1 CHECK (((end_reason IS NULL) OR (ended_at IS NOT NULL))),
    CONSTRAINT sessions_end_reason_check CHECK ((end_reason = ANY (ARRAY['logout'::text, 'reuse'::text, 'ended'::text,
        'password'::text, 'admin'::text])))
);
CREATE INDEX sessions_alive ON sessions (user_id) WHERE (ended_at IS NULL);
CREATE INDEX sessions_by_view ON sessions (active_view_id);
GRANT DELETE, INSERT, SELECT, UPDATE ON sessions TO comanda_system;

CREATE TABLE store_views (
    id text NOT NULL,
    store_id text NOT NULL,
    code text NOT NULL,
    locale text NOT NULL,
    currency text NOT NULL,
    is_default boolean NOT NULL,
    CONSTRAINT store_views_pkey PRIMARY KEY (id),
    CONSTRAINT store_views_store_id_code_key UNIQUE (store_id, code),
    CONSTRAINT store_views_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT store_views_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text))
);
CREATE UNIQUE INDEX store_views_default ON store_views (store_id) WHERE is_default;
ALTER TABLE store_views ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON store_views TO comanda_system USING (true);
CREATE POLICY one_store ON store_views TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON store_views TO comanda_app, comanda_system;

CREATE TABLE stores (
    id text NOT NULL,
    website_id text NOT NULL,
    sandbox_of text,
    name text NOT NULL,
    country_code text NOT NULL,
    timezone text NOT NULL,
    business_day_cutoff_hour smallint NOT NULL DEFAULT 0,
    require_otp boolean NOT NULL DEFAULT false,
    tax_rate_ppm bigint NOT NULL DEFAULT 0,
    tax_included boolean NOT NULL DEFAULT false,
    tax_delivery_fee boolean NOT NULL DEFAULT false,
    delivery_fees jsonb NOT NULL DEFAULT '{}'::jsonb,
    opening_hours jsonb NOT NULL DEFAULT '{}'::jsonb,
    closures jsonb NOT NULL DEFAULT '[]'::jsonb,
    prep_minutes jsonb NOT NULL DEFAULT '{"PICKUP": 20, "DINE_IN": 20, "DELIVERY": 20}'::jsonb,
    order_lead_minutes integer NOT NULL DEFAULT 0,
    order_max_days integer NOT NULL DEFAULT 14,
    ordering_paused_until timestamp with time zone,
    remind_after_minutes integer NOT NULL DEFAULT 0,
    cancel_after_minutes integer NOT NULL DEFAULT 0,
    lower_totals text NOT NULL DEFAULT 'STAFF'::text,
    staff_may text[] NOT NULL DEFAULT '{}'::text[],
    loyalty_minor_per_point jsonb NOT NULL DEFAULT '{}'::jsonb,
    loyalty_min_points bigint NOT NULL DEFAULT 0,
    seats integer NOT NULL DEFAULT 50,
    reservation_minutes integer NOT NULL DEFAULT 120,
    booking_lead_minutes integer NOT NULL DEFAULT 0,
    booking_max_days integer NOT NULL DEFAULT 90,
    settings_version bigint NOT NULL DEFAULT 1,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT stores_pkey PRIMARY KEY (id),
    CONSTRAINT stores_sandbox_of_key UNIQUE (sandbox_of),
    CONSTRAINT stores_sandbox_of_fkey FOREIGN KEY (sandbox_of) REFERENCES stores(id),
    CONSTRAINT stores_website_id_fkey FOREIGN KEY (website_id) REFERENCES websites(id),
    CONSTRAINT stores_booking_lead_minutes_check CHECK (((booking_lead_minutes >= 0) AND (booking_lead_minutes <=
        43200))),
    CONSTRAINT stores_booking_max_days_check CHECK (((booking_max_days >= 1) AND (booking_max_days <= 730))),
    CONSTRAINT stores_business_day_cutoff_hour_check CHECK (((business_day_cutoff_hour >= 0) AND
        (business_day_cutoff_hour <= 23))),
    CONSTRAINT stores_cancel_after_minutes_check CHECK (((cancel_after_minutes >= 0) AND (cancel_after_minutes <=
        1440))),
    CONSTRAINT stores_check CHECK ((sandbox_of <> id)),
    CONSTRAINT stores_country_code_check CHECK ((country_code ~ '^[A-Z]{2}$'::text)),
    CONSTRAINT stores_lower_totals_check CHECK ((lower_totals = ANY (ARRAY['STAFF'::text, 'MANAGER'::text]))),
    CONSTRAINT stores_loyalty_min_points_check CHECK ((loyalty_min_points >= 0)),
    CONSTRAINT stores_order_lead_minutes_check CHECK (((order_lead_minutes >= 0) AND (order_lead_minutes <= 43200))),
    CONSTRAINT stores_order_max_days_check CHECK (((order_max_days >= 0) AND (order_max_days <= 365))),
    CONSTRAINT stores_remind_after_minutes_check CHECK (((remind_after_minutes >= 0) AND (remind_after_minutes <=
        1440))),
    CONSTRAINT stores_reservation_minutes_check CHECK (((reservation_minutes >= 15) AND (reservation_minutes <= 1440))),
    CONSTRAINT stores_seats_check CHECK (((seats >= 0) AND (seats <= 100000))),
    CONSTRAINT stores_staff_may_check CHECK ((staff_may <@ ARRAY['SELL_OUT'::text, 'FIND_CUSTOMERS'::text])),
    CONSTRAINT stores_tax_rate_ppm_check CHECK (((tax_rate_ppm >= 0) AND (tax_rate_ppm <= 1000000)))
);
CREATE INDEX stores_by_website ON stores (website_id);
ALTER TABLE stores ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON stores TO comanda_system USING (true);
CREATE POLICY one_store ON stores TO comanda_app USING ((id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON stores TO comanda_app, comanda_system;

CREATE TABLE subscription_health (
    subscription_id text NOT NULL,
    store_id text NOT NULL,
    failure_count bigint NOT NULL DEFAULT 0,
    failing_since timestamp with time zone,
    slow_until timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
    watch_at timestamp with time zone,
    watched_since timestamp with time zone,
    watched_until timestamp with time zone,
    failing_days integer NOT NULL DEFAULT 0,
    last_attempt_at timestamp with time zone,
    filter_error text,
    filter_error_event text,
    filter_error_at timestamp with time zone,
    healthy boolean NOT NULL GENERATED ALWAYS AS ((failure_count = 0)) STORED,
    CONSTRAINT subscription_health_pkey PRIMARY KEY (subscription_id),
    CONSTRAINT subscription_health_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES subscriptions(id)
);
ALTER TABLE subscription_health ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON subscription_health TO comanda_system USING (true);
CREATE POLICY one_store ON subscription_health TO comanda_app USING ((store_id =
        current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON subscription_health TO comanda_app, comanda_system;

CREATE TABLE subscriptions (
    id text NOT NULL,
    store_id text NOT NULL,
    url text NOT NULL,
    description text NOT NULL DEFAULT ''::text,
    events text[] NOT NULL,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_secret_until timestamp with time zone,
    filter text,
    ordering text NOT NULL DEFAULT 'none'::text,
    reordering boolean NOT NULL DEFAULT false,
    headers bytea,
    header_names text[] NOT NULL DEFAULT '{}'::text[],
    is_active boolean NOT NULL DEFAULT true,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    is_claimable boolean NOT NULL GENERATED ALWAYS AS ((is_active AND (deleted_at IS NULL) AND (NOT (reordering AND
        (ordering = 'resource'::text))))) STORED,
    CONSTRAINT subscriptions_pkey PRIMARY KEY (id),
    CONSTRAINT subscriptions_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT subscriptions_ordering_check CHECK ((ordering = ANY (ARRAY['none'::text, 'resource'::text])))
);
CREATE INDEX subscriptions_deleted ON subscriptions (deleted_at, id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX subscriptions_inactive ON subscriptions (updated_at, id) WHERE ((NOT is_active) AND (deleted_at IS NULL));
CREATE INDEX subscriptions_of_store ON subscriptions (store_id, created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX subscriptions_reordering ON subscriptions (updated_at, id) WHERE (reordering AND (deleted_at IS NULL));
CREATE INDEX subscriptions_rotating ON subscriptions (previous_secret_until) WHERE (previous_secret_until IS NOT NULL);
ALTER TABLE subscriptions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON subscriptions TO comanda_system USING (true);
CREATE POLICY one_store ON subscriptions TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON subscriptions TO comanda_app, comanda_system;

CREATE TABLE turns (
    subscription_id text NOT NULL,
    resource text NOT NULL,
    store_id text NOT NULL,
    queue text NOT NULL,
    delivery_id text NOT NULL DEFAULT ''::text,
    CONSTRAINT turns_pkey PRIMARY KEY (subscription_id, resource)
);
ALTER TABLE turns ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON turns TO comanda_system USING (true);
CREATE POLICY one_store ON turns TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text, true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON turns TO comanda_app, comanda_system;

CREATE TABLE undispatched (
    queue text NOT NULL,
    store_id text NOT NULL,
    number bigint NOT NULL,
    event_id text NOT NULL,
    type text NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    CONSTRAINT undispatched_pkey PRIMARY KEY (queue, store_id, number)
);
ALTER TABLE undispatched ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON undispatched TO comanda_system USING (true);
CREATE POLICY one_store ON undispatched TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON undispatched TO comanda_app, comanda_system;

CREATE TABLE used_id_tokens (
    website_id text NOT NULL,
    hash bytea NOT NULL,
    store_id text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT used_id_tokens_pkey PRIMARY KEY (website_id, hash),
    CONSTRAINT used_id_tokens_store_id_fkey FOREIGN KEY (store_id) REFERENCES stores(id),
    CONSTRAINT used_id_tokens_website_id_fkey FOREIGN KEY (website_id) REFERENCES websites(id)
);
CREATE INDEX used_id_tokens_expired ON used_id_tokens (expires_at);
ALTER TABLE used_id_tokens ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY every_store ON used_id_tokens TO comanda_system USING (true);
CREATE POLICY one_store ON used_id_tokens TO comanda_app USING ((store_id = current_setting('comanda.store_id'::text,
        true)));
GRANT DELETE, INSERT, SELECT, UPDATE ON used_id_tokens TO comanda_app, comanda_system;

CREATE TABLE users (
    id text NOT NULL,
    email text COLLATE "C" NOT NULL,
    email_proven boolean NOT NULL,
    name text NOT NULL,
    password_hash text NOT NULL,
    platform_role text,
    last_store_id text,
    otp_secret bytea,
    otp_pending_at timestamp with time zone,
    otp_enabled_at timestamp with time zone,
    otp_last_step bigint NOT NULL DEFAULT 0,
    recovery_hashes text[] NOT NULL DEFAULT '{}'::text[],
    disabled_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT otp_has_a_secret CHECK (((otp_secret IS NULL) = ((otp_pending_at IS NULL) AND (otp_enabled_at IS
        NULL)))),
    CONSTRAINT otp_is_pending_or_on CHECK (((otp_pending_at IS NULL) OR (otp_enabled_at IS NULL))),
    CONSTRAINT users_platform_role_check CHECK ((platform_role = 'ADMIN'::text))
);
CREATE UNIQUE INDEX users_by_email ON users (lower(email));
CREATE TRIGGER end_invitations_on_disabling AFTER UPDATE ON users FOR EACH ROW WHEN (((new.disabled_at IS NOT NULL) AND
        (old.disabled_at IS NULL) AND (new.platform_role IS NULL))) EXECUTE FUNCTION end_invitations_of_user();
CREATE TRIGGER end_password_resets AFTER UPDATE ON users FOR EACH ROW WHEN (((new.email <> old.email) OR
        (new.password_hash <> old.password_hash) OR ((new.disabled_at IS NOT NULL) AND (old.disabled_at IS NULL))))
        EXECUTE FUNCTION end_password_resets();
GRANT INSERT, SELECT, UPDATE ON users TO comanda_system;

CREATE TABLE website_client_ids (
    provider text NOT NULL,
    client_id text NOT NULL,
    website_id text NOT NULL,
    CONSTRAINT website_client_ids_pkey PRIMARY KEY (provider, client_id),
    CONSTRAINT website_client_ids_website_id_fkey FOREIGN KEY (website_id) REFERENCES websites(id),
    CONSTRAINT website_client_ids_client_id_check CHECK ((client_id <> ''::text)),
    CONSTRAINT website_client_ids_provider_check CHECK ((provider = ANY (ARRAY['google'::text, 'apple'::text,
        'facebook'::text])))
);
CREATE INDEX website_client_ids_of_website ON website_client_ids (website_id, provider);
GRANT DELETE, INSERT, SELECT, UPDATE ON website_client_ids TO comanda_system;

CREATE TABLE websites (
    id text NOT NULL,
    name text NOT NULL,
    domain text NOT NULL,
    plan text NOT NULL,
    plan_managed_by text NOT NULL DEFAULT 'OWNER'::text,
    suspended_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT websites_pkey PRIMARY KEY (id),
    CONSTRAINT websites_domain_key UNIQUE (domain),
    CONSTRAINT websites_plan_check CHECK ((plan = ANY (ARRAY['STARTER'::text, 'GROW'::text, 'PROFESSIONAL'::text,
        'ENTERPRISE'::text]))),
    CONSTRAINT websites_plan_managed_by_check CHECK ((plan_managed_by = ANY (ARRAY['OWNER'::text, 'PLATFORM'::text])))
);
GRANT INSERT, SELECT, UPDATE ON websites TO comanda_system;

CREATE SEQUENCE bun_migration_locks_id_seq;

CREATE SEQUENCE bun_migrations_id_seq;

CREATE SEQUENCE outbox_number_seq;

CREATE VIEW plan_queues WITH (security_invoker=true) AS
 SELECT s.id AS store_id,
    s.website_id,
    plan_queue(queue_of(s.*), s.id) AS queue,
        CASE
            WHEN (s.sandbox_of IS NULL) THEN w.plan
            ELSE 'STARTER'::text
        END AS plan
   FROM (stores s
     JOIN websites w ON ((w.id = s.website_id)));
GRANT SELECT ON plan_queues TO comanda_system;

CREATE FUNCTION count_amended()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE FUNCTION count_items()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE FUNCTION count_options()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE FUNCTION count_order()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE FUNCTION end_customer_email_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    DELETE FROM customer_email_changes WHERE store_id = NEW.store_id AND customer_id = NEW.id;
    RETURN NULL;
END $function$;

CREATE FUNCTION end_customer_password_resets()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    DELETE FROM customer_password_resets WHERE store_id = NEW.store_id AND customer_id = NEW.id;
    RETURN NULL;
END $function$;

CREATE FUNCTION end_invitations_of_member()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    DELETE FROM invitations WHERE invited_by = OLD.user_id AND OLD.store_id = ANY (store_ids) AND accepted_at IS NULL;
    RETURN NULL;
END $function$;

CREATE FUNCTION end_invitations_of_user()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    DELETE FROM invitations WHERE invited_by = NEW.id AND accepted_at IS NULL;
    RETURN NULL;
END $function$;

CREATE FUNCTION end_password_resets()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    DELETE FROM password_resets WHERE user_id = NEW.id;
    RETURN NULL;
END $function$;

CREATE FUNCTION erase_audit(trail regclass, after text, before timestamp with time zone, most integer, OUT last text,
        OUT more boolean, OUT erased bigint)
 RETURNS record
 LANGUAGE plpgsql
 STRICT SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_sort TO 'off'
AS $function$
BEGIN
    IF trail NOT IN ('public.audit'::regclass, 'public.platform_audit'::regclass) THEN
        RAISE EXCEPTION '% is not an audit trail', trail;
    END IF;
    IF before > now() - interval '29 days' THEN
        RAISE EXCEPTION 'cannot erase audit entries since %, which is less than 29 days ago', before;
    END IF;
    PERFORM set_config('comanda.erasing_audit', 'on', true); -- only a superuser can declare it above
    EXECUTE format('
        WITH seen AS MATERIALIZED (
            SELECT id, ctid AS place, at < $2 AS over FROM %1$s WHERE id > $1 ORDER BY id LIMIT $3
            FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM %1$s t USING seen WHERE t.ctid = seen.place AND seen.over RETURNING 1
        )
        SELECT coalesce(max(id), ''''), count(*) = $3 AND bool_or(over), (SELECT count(*) FROM gone) FROM seen', trail)
    INTO last, more, erased USING after, before, most;
    PERFORM set_config('comanda.erasing_audit', 'off', true);
END $function$;
REVOKE ALL ON ROUTINE erase_audit(regclass,text,timestamp with time zone,integer) FROM PUBLIC;
GRANT EXECUTE ON ROUTINE erase_audit(regclass,text,timestamp with time zone,integer) TO comanda_system;

CREATE FUNCTION erase_customer_audit(of_customer text, former_email text)
 RETURNS void
 LANGUAGE plpgsql
 STRICT SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
    PERFORM set_config('comanda.erasing_audit', 'on', true), -- for the policy of the owner
        set_config('comanda.erasing_customer', 'on', true);
    UPDATE public.audit SET address = CASE actor_realm WHEN 'customer' THEN of_customer ELSE address END,
        details = CASE former_email WHEN '' THEN details
            ELSE replace(details::text, to_json(former_email)::text, to_json(of_customer)::text)::jsonb END
    WHERE store_id = current_setting('comanda.store_id', true)
        AND (actor_realm = 'customer' AND actor_id = of_customer OR target = of_customer);
    PERFORM set_config('comanda.erasing_audit', 'off', true), set_config('comanda.erasing_customer', 'off', true);
END $function$;
REVOKE ALL ON ROUTINE erase_customer_audit(text,text) FROM PUBLIC;
GRANT EXECUTE ON ROUTINE erase_customer_audit(text,text) TO comanda_app;

CREATE FUNCTION event_position(at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT (extract(epoch FROM at) * 1000)::bigint << 11
$function$;

CREATE PROCEDURE fence(IN tenant_table regclass, IN store_column name)
 LANGUAGE plpgsql
AS $procedure$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('CREATE POLICY one_store ON %s TO comanda_app '
        'USING (%I = current_setting(''comanda.store_id'', true))',
        tenant_table, store_column);
    EXECUTE format('CREATE POLICY every_store ON %s TO comanda_system USING (true)', tenant_table);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO comanda_app, comanda_system', tenant_table);
END $procedure$;

CREATE FUNCTION guest_order(customer text)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
    SELECT coalesce((SELECT (kind = 'guest')::int FROM customers WHERE id = customer), 1)
$function$;

CREATE FUNCTION lock_plan(queue text, starts_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF NOT pg_try_advisory_xact_lock(plan_lock(queue)) THEN
        RETURN NULL;
    END IF;
    RETURN coalesce((SELECT w.started FROM plan_windows w
        WHERE w.queue = lock_plan.queue AND w.starts_at = lock_plan.starts_at), 0);
END $function$;

CREATE FUNCTION mirror_membership()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF current_user = 'comanda_app' THEN
        RAISE EXCEPTION
            'comanda_app sees one store at a time, and a change of members may concern two: use comanda_system';
    END IF;
    PERFORM FROM stores WHERE id = coalesce(NEW.store_id, OLD.store_id) AND sandbox_of IS NULL FOR SHARE;
    IF TG_OP = 'DELETE' THEN
        DELETE FROM memberships
        WHERE user_id = OLD.user_id AND store_id = (SELECT id FROM stores WHERE sandbox_of = OLD.store_id);
    ELSE
        INSERT INTO memberships (user_id, store_id, role, created_at)
            SELECT NEW.user_id, id, NEW.role, NEW.created_at FROM stores WHERE sandbox_of = NEW.store_id
            ON CONFLICT (user_id, store_id) DO UPDATE SET role = excluded.role, created_at = excluded.created_at;
    END IF;
    RETURN NULL;
END $function$;

CREATE FUNCTION plan_lock(queue text)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT hashtextextended('plan/' || queue, 0)
$function$;

CREATE FUNCTION plan_queue(queue text, store text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT CASE WHEN queue LIKE '%/test' THEN queue || ':' || store ELSE queue END
$function$;

CREATE FUNCTION queue_of(store stores)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT store.website_id || CASE WHEN store.sandbox_of IS NULL THEN '' ELSE '/test' END
$function$;

CREATE FUNCTION rate_limit_wait(keys bytea[], most integer[], span interval, at timestamp with time zone)
 RETURNS interval
 LANGUAGE sql
 STABLE
AS $function$
    SELECT max((SELECT hit FROM unnest(r.hits) AS hit ORDER BY hit DESC OFFSET b.most - 1 LIMIT 1) + span - at)
    FROM unnest(keys, most) AS b(key, most) JOIN rate_limits r ON r.key = b.key
$function$;

CREATE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('comanda.erasing_audit', true) = 'on'
        OR TG_OP = 'UPDATE' AND current_setting('comanda.erasing_customer', true) = 'on' THEN
        RETURN NULL; -- ignored by statement triggers
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $function$;

CREATE FUNCTION return_changes(store text, customer text, day date, change bigint)
 RETURNS TABLE(business_date date, seen_before date, customers bigint)
 LANGUAGE sql
 STABLE
AS $function$
    SELECT v.day, v.before, v.change
    FROM (SELECT coalesce((SELECT max(d.business_date) FROM customer_days d WHERE d.store_id = store
                AND d.customer_id = customer AND d.business_date < day AND d.orders > 0), c.business_date) AS seen,
            (SELECT min(d.business_date) FROM customer_days d WHERE d.store_id = store
                AND d.customer_id = customer AND d.business_date > day AND d.orders > 0) AS following
        FROM customers c WHERE c.id = customer) s,
        LATERAL (VALUES (day, s.seen, change), (s.following, s.seen, -change), (s.following, day, change))
            AS v (day, before, change)
    WHERE v.day IS NOT NULL
$function$;

CREATE FUNCTION selects(events text[], type text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    SELECT type = ANY (events) OR '*' = ANY (events)
$function$;

CREATE FUNCTION settle_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
    subscriptions text[];
    resources     text[];
BEGIN
    IF NOT EXISTS (SELECT FROM after WHERE ordered UNION ALL SELECT FROM before WHERE ordered) THEN
        RETURN NULL;
    END IF;
    -- A join of the two tables, planned for one row, would take quadratic time for many.
    SELECT array_agg(subscription_id), array_agg(resource) INTO subscriptions, resources FROM (
        SELECT min(subscription_id) AS subscription_id, min(resource) AS resource FROM (
            SELECT id, subscription_id, resource, NULL AS was, NULL::boolean AS was_held, status AS becomes
            FROM after WHERE ordered
            UNION ALL
            SELECT id, subscription_id, resource, status, held, NULL FROM before WHERE ordered
        ) d GROUP BY id
        -- A single row has become ordered or unordered.
        HAVING count(*) = 1 OR min(becomes) <> min(was) AND min(becomes) <> 'pending' AND CASE min(was)
            WHEN 'pending' THEN min(becomes) <> 'retrying'
            WHEN 'queued' THEN NOT bool_or(was_held) OR min(becomes) = 'retrying' ELSE true END
    ) changed;
    IF subscriptions IS NOT NULL THEN
        PERFORM settle_turns(subscriptions, resources);
    END IF;
    RETURN NULL;
END $function$;

CREATE FUNCTION settle_queued()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
    subscriptions text[];
    resources     text[];
BEGIN
    SELECT array_agg(subscription_id), array_agg(resource) INTO subscriptions, resources FROM added WHERE ordered;
    IF subscriptions IS NOT NULL THEN
        PERFORM settle_turns(subscriptions, resources);
    END IF;
    RETURN NULL;
END $function$;

CREATE FUNCTION settle_turns(subscriptions text[], resources text[])
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
    released bigint := 0;
    found    bigint;
    changed  bigint;
BEGIN
    -- ON CONFLICT waits for a transaction that inserts or deletes the row, and locks it although WHERE is false. All
    -- transactions lock turns in the same order. The next statement sees the deliveries that were committed before.
    INSERT INTO turns AS t (subscription_id, resource, store_id, queue)
    SELECT line.id, line.resource, s.store_id, store.queue
    FROM (SELECT DISTINCT id, resource FROM unnest(subscriptions, resources) AS u (id, resource)) line
        JOIN subscriptions s ON s.id = line.id
        CROSS JOIN LATERAL (
            SELECT plan_queue(queue_of(st), st.id) AS queue FROM stores st WHERE st.id = s.store_id OFFSET 0) store
    ORDER BY line.id, line.resource
    ON CONFLICT (subscription_id, resource) DO UPDATE SET delivery_id = t.delivery_id WHERE false;
    LOOP
        WITH line AS MATERIALIZED (
            SELECT t.subscription_id, t.resource, t.delivery_id AS holder, holder.id IS NOT NULL AS holder_waits,
                next.id AS next, next.is_held
            FROM (SELECT DISTINCT id, resource FROM unnest(subscriptions, resources) AS u (id, resource)) u
                CROSS JOIN LATERAL (
                    SELECT * FROM turns t WHERE t.subscription_id = u.id AND t.resource = u.resource OFFSET 0) t
                LEFT JOIN LATERAL (
                    SELECT d.id, d.class, d.position FROM deliveries d
                    WHERE d.id = t.delivery_id AND CASE d.status WHEN 'queued' THEN d.ordered AND NOT d.held END
                ) holder ON true
                LEFT JOIN LATERAL (
                    SELECT c.id, c.is_held FROM (
                        (SELECT d.id, false AS is_held, 0 AS place, 0 AS class, d.position FROM deliveries d
                            WHERE d.subscription_id = t.subscription_id AND d.resource = t.resource AND d.ordered
                                AND d.status IN ('pending', 'retrying')
                            ORDER BY d.id <> t.delivery_id LIMIT 1)
                        UNION ALL
                        -- The bound on a row of columns keeps the planner from other indexes. The others end the scan.
                        (SELECT d.id, true, 1, d.class, d.position FROM deliveries d
                            WHERE d.status = 'queued' AND d.held
                                AND (d.queue, d.subscription_id, d.resource)
                                    >= (t.queue, t.subscription_id, t.resource)
                                AND d.queue = t.queue AND d.subscription_id = t.subscription_id
                                AND d.resource = t.resource
                            ORDER BY d.queue, d.subscription_id, d.resource, d.class, d.position LIMIT 1)
                        UNION ALL
                        (SELECT holder.id, false, 1, holder.class, holder.position WHERE holder.id IS NOT NULL)
                    ) c ORDER BY c.place, c.class, c.position, c.is_held LIMIT 1
                ) next ON true
        ), demoted AS MATERIALIZED (
            UPDATE deliveries d SET held = true FROM (
                SELECT d.id FROM line CROSS JOIN LATERAL (
                    SELECT d.id FROM deliveries d
                    WHERE d.id = line.holder AND CASE d.status WHEN 'queued' THEN NOT d.held END
                    FOR UPDATE SKIP LOCKED) d
                WHERE line.holder_waits AND line.next <> line.holder
            ) waiting WHERE d.id = waiting.id
            RETURNING d.id
        ), due AS MATERIALIZED (
            SELECT next FROM line WHERE is_held AND (NOT holder_waits OR holder IN (SELECT id FROM demoted))
        ), released AS MATERIALIZED (
            -- Due from now on: the time for which it was held back is no overload.
            UPDATE deliveries d SET held = false,
                scheduled_for = greatest(d.scheduled_for, date_trunc('milliseconds', clock_timestamp()))
            FROM (SELECT d.id FROM due CROSS JOIN LATERAL (
                    SELECT d.id FROM deliveries d
                    WHERE d.id = due.next AND CASE d.status WHEN 'queued' THEN d.held END FOR UPDATE) d
            ) waiting WHERE d.id = waiting.id
            RETURNING d.id
        ), moved AS (
            UPDATE turns t SET delivery_id = line.next FROM line
            WHERE t.subscription_id = line.subscription_id AND t.resource = line.resource AND line.next <> line.holder
                AND (NOT line.is_held OR line.next IN (SELECT id FROM released))
        ), gone AS (
            DELETE FROM turns t USING line
            WHERE t.subscription_id = line.subscription_id AND t.resource = line.resource AND line.next IS NULL
        )
        SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM released) INTO found, changed;
        released := released + changed;
        -- A delivery that was locked has ended since.
        EXIT WHEN changed = found;
    END LOOP;
    RETURN released;
END $function$;

CREATE FUNCTION store_queue(store text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
    SELECT queue_of(s) FROM stores s WHERE s.id = store
$function$;

CREATE FUNCTION take_rate_limits(keys bytea[], most integer[], span interval)
 RETURNS interval
 LANGUAGE plpgsql
AS $function$
DECLARE
    at   timestamptz := clock_timestamp();
    wait interval := rate_limit_wait(keys, most, span, at);
BEGIN
    -- A budget that is used up stays so until that time, so a refusal needs no lock and writes nothing.
    IF wait > '0' THEN
        RETURN wait;
    END IF;
    FOR i IN 1 .. cardinality(keys) LOOP
        INSERT INTO rate_limits AS r (key, hits, expires_at) VALUES (keys[i], '{}', at + span)
            ON CONFLICT (key) DO UPDATE SET hits = r.hits;
    END LOOP;
    at := clock_timestamp(); -- waiting for the locks may have taken time
    wait := rate_limit_wait(keys, most, span, at);
    IF wait > '0' THEN
        RETURN wait;
    END IF;
    UPDATE rate_limits r
    SET hits = array(SELECT hit FROM unnest(r.hits) AS hit WHERE hit > at - span) || at, expires_at = at + span
    WHERE r.key = ANY (keys);
    DELETE FROM rate_limits WHERE key IN (
        SELECT key FROM rate_limits WHERE expires_at <= at ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED);
    RETURN NULL;
END $function$;

CREATE FUNCTION uncount_items()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE FUNCTION uncount_options()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE FUNCTION uuidv7_hex()
 RETURNS text
 LANGUAGE sql
AS $function$
    SELECT lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
        || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14)
$function$;

CREATE FUNCTION uuidv7_hex(at timestamp with time zone, place bigint)
 RETURNS text
 LANGUAGE sql
AS $function$
    SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(least(place, 4095)), 3, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 17)
$function$;

CREATE FUNCTION website_suspended(website text)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
BEGIN ATOMIC
 SELECT (websites.suspended_at IS NOT NULL)
    FROM websites
   WHERE (websites.id = website_suspended.website);
END;
REVOKE ALL ON ROUTINE website_suspended(text) FROM PUBLIC;
GRANT EXECUTE ON ROUTINE website_suspended(text) TO comanda_app;
