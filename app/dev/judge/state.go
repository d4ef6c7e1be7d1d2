package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
)

// state is everything that the database and Temporal hold after a run, and what the log of commits adds to it.
type state struct {
	Stores map[string]storeRow
	Window time.Duration // of the plans
	Tries  int           // attempts of a schedule
	Losses []loss

	// From the log, in the order of their numbers.
	Events   map[string]*eventRow
	Webhooks map[string][]webhookRow // versions by webhook
	Websites map[string][]websiteRow // versions by website
	Steps    map[string][]deliveryRow
	Changes  []changeRow
	Keys     []keyRow
	Stocks   map[string][]productRow // by product
	Asked    map[string][]replayRow  // versions by bulk replay: its begin and its end
	Invited  map[string]string       // address by invitation
	Inserted map[string]logged       // by invitation

	Deliveries  map[string]deliveryRow
	Attempts    map[string][]attemptRow // by delivery, in the order of their numbers
	Tests       []attemptRow            // of test.ping
	Windows     []windowRow
	Replays     []replayRow
	Mails       []mailRow
	Menu        []productRow
	Booked      []reservationRow
	Orders      map[string]orderRow
	Items       []itemRow
	Payments    map[string]paymentRow
	Refunds     map[string]refundRow
	Customers   map[string]customerRow
	Addresses   map[string]addressRow
	Loyalty     []loyaltyRow
	Sales       []salesRow
	Products    []productSalesRow
	CustomerDay []customerDayRow
	Numbers     []numberRow

	Erased    map[string]bool     // events whose body is erased
	Listed    map[string][]string // ids of events by store, as GET /events?order=asc lists them
	Workflows map[string]string   // states of the open workflows of deliveries and bursts, by workflow id
}

// loadState reads the state after everything has ended. watch must have begun the log.
func loadState(ctx context.Context, w *world, h *history) (*state, error) {
	conn, err := pgx.Connect(ctx, w.SuperuserURL())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	s := &state{Losses: w.losses}
	if s.Window, err = time.ParseDuration(settings["COMANDA_PLAN_WINDOW"]); err != nil {
		return nil, err
	}
	schedule, err := app.ParseRetrySchedule(settings["COMANDA_RETRY_SCHEDULE"])
	if err != nil {
		return nil, err
	}
	s.Tries = 1 + len(schedule)
	if err := s.load(ctx, conn); err != nil {
		return nil, err
	}
	if err := s.list(ctx, w.SystemDB()); err != nil {
		return nil, err
	}
	s.Workflows, err = openWorkflows(ctx, w.Temporal(), h, s)
	return s, err
}

// load reads the database.
func (s *state) load(ctx context.Context, conn *pgx.Conn) error {
	if err := s.loadLog(ctx, conn); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	r := &reader{ctx: ctx, conn: conn}
	s.Stores = by(read[storeRow](r, "stores"), func(row storeRow) string { return row.ID })
	s.Deliveries = by(read[deliveryRow](r, "deliveries"), func(row deliveryRow) string { return row.ID })
	s.Attempts = map[string][]attemptRow{}
	for _, a := range read[attemptRow](r, "attempts") {
		if a.Delivery == nil {
			s.Tests = append(s.Tests, a)
			continue
		}
		s.Attempts[*a.Delivery] = append(s.Attempts[*a.Delivery], a)
	}
	for _, list := range s.Attempts {
		slices.SortFunc(list, func(a, b attemptRow) int { return cmp.Compare(a.Number, b.Number) })
	}
	s.Windows = append(s.Windows, read[windowRow](r, "plan_windows")...)
	s.Replays = read[replayRow](r, "replays")
	s.Mails = read[mailRow](r, "mails")
	s.Menu = read[productRow](r, "products")
	s.Booked = read[reservationRow](r, "reservations")
	s.Orders = by(read[orderRow](r, "orders"), func(row orderRow) string { return row.ID })
	s.Items = read[itemRow](r, "order_items")
	s.Payments = by(read[paymentRow](r, "payments"), func(row paymentRow) string { return row.ID })
	s.Refunds = by(read[refundRow](r, "refunds"), func(row refundRow) string { return row.ID })
	s.Customers = by(read[customerRow](r, "customers"), func(row customerRow) string { return row.ID })
	s.Addresses = by(read[addressRow](r, "addresses"), func(row addressRow) string { return row.ID })
	s.Loyalty = read[loyaltyRow](r, "loyalty_entries")
	s.Sales = read[salesRow](r, "sales")
	s.Products = read[productSalesRow](r, "product_sales")
	s.CustomerDay = read[customerDayRow](r, "customer_days")
	s.Numbers = read[numberRow](r, "order_numbers")
	s.Erased = map[string]bool{}
	for _, e := range read[eventRow](r, "(SELECT id FROM outbox WHERE body IS NULL OR erasing IS NOT NULL)") {
		s.Erased[e.ID] = true
	}
	return r.err
}

// reader reads tables until the first error.
type reader struct {
	ctx  context.Context
	conn *pgx.Conn
	err  error
}

// read reads all rows of a table.
func read[T any](r *reader, table string) (list []T) {
	if r.err != nil {
		return nil
	}
	rows, err := r.conn.Query(r.ctx, "SELECT to_jsonb(t) FROM "+table+" t")
	if err == nil {
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (one T, err error) {
			return one, row.Scan(&one)
		})
	}
	if err != nil {
		r.err = fmt.Errorf("%s: %w", table, err)
	}
	return list
}

// by returns rows by a key.
func by[T any](list []T, key func(T) string) map[string]T {
	rows := make(map[string]T, len(list))
	for _, row := range list {
		rows[key(row)] = row
	}
	return rows
}

// loadLog reads the log of commits.
func (s *state) loadLog(ctx context.Context, conn *pgx.Conn) error {
	s.Events, s.Webhooks, s.Websites = map[string]*eventRow{}, map[string][]webhookRow{}, map[string][]websiteRow{}
	s.Steps, s.Stocks = map[string][]deliveryRow{}, map[string][]productRow{}
	s.Asked, s.Invited, s.Inserted = map[string][]replayRow{}, map[string]string{}, map[string]logged{}
	rows, err := conn.Query(ctx, `SELECT number, at, xid::text::bigint, seen::text, source, content FROM judge.log
		ORDER BY number`)
	if err != nil {
		return err
	}
	var l logged
	var seen, source string
	var content []byte
	_, err = pgx.ForEachRow(rows, []any{&l.Number, &l.At, &l.XID, &seen, &source, &content}, func() (err error) {
		if l.Seen, err = parseSnapshot(seen); err != nil {
			return err
		}
		return s.add(l, source, content)
	})
	return err
}

// add adds a row of the log.
func (s *state) add(l logged, source string, content []byte) error {
	switch source {
	case "outbox":
		e := &eventRow{logged: l}
		err := json.Unmarshal(content, e)
		s.Events[e.ID] = e
		return err
	case "event_log":
		var row eventRow
		err := json.Unmarshal(content, &row)
		if e := s.Events[row.ID]; e != nil {
			e.Dispatched = l
			var place struct{ Position int64 }
			err = json.Unmarshal(content, &place)
			e.Position = place.Position
		}
		return err
	case "subscriptions":
		row := webhookRow{logged: l}
		err := json.Unmarshal(content, &row)
		s.Webhooks[row.ID] = append(s.Webhooks[row.ID], row)
		return err
	case "websites":
		row := websiteRow{logged: l}
		err := json.Unmarshal(content, &row)
		s.Websites[row.ID] = append(s.Websites[row.ID], row)
		return err
	case "order_history":
		row := changeRow{logged: l}
		err := json.Unmarshal(content, &row)
		s.Changes = append(s.Changes, row)
		return err
	case "idempotency_keys":
		row := keyRow{logged: l}
		err := json.Unmarshal(content, &row)
		s.Keys = append(s.Keys, row)
		return err
	case "products":
		row := productRow{logged: l}
		err := json.Unmarshal(content, &row)
		s.Stocks[row.ID] = append(s.Stocks[row.ID], row)
		return err
	case "replays":
		row := replayRow{logged: l}
		err := json.Unmarshal(content, &row)
		s.Asked[row.ID] = append(s.Asked[row.ID], row)
		return err
	case "invitations":
		var row struct{ ID, Email string }
		err := json.Unmarshal(content, &row)
		s.Invited[row.ID], s.Inserted[row.ID] = row.Email, l
		return err
	case "plan_windows":
		row := windowRow{logged: l}
		err := json.Unmarshal(content, &row)
		s.Windows = append(s.Windows, row)
		return err
	case "deliveries":
		row := deliveryRow{logged: l}
		err := json.Unmarshal(content, &row)
		s.Steps[row.ID] = append(s.Steps[row.ID], row)
		return err
	}
	return fmt.Errorf("unknown source %q", source)
}
