package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// moment is a line of a timeline.
type moment struct {
	at   time.Time
	text string
}

// timeline returns the operations, requests, faults and rows that concern the order, event or webhook of a violation.
// Times count from the start of the run.
func (w *world) timeline(ctx context.Context, h *history, v violation) ([]string, error) {
	if v.Order == "" && v.Event == "" && v.Webhook == "" {
		return nil, nil
	}
	list := moments(h, v)
	rows, err := w.rows(ctx, v)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, m := range list {
		lines = append(lines, fmt.Sprintf("%8.3f %s", m.at.Sub(h.Begin).Seconds(), m.text))
	}
	return append(lines, rows...), nil
}

// moments returns the lines from the history. Without an order and an event, the operations and requests of a webhook
// would be too many: then only its operations are shown.
func moments(h *history, v violation) (list []moment) {
	first, last := h.End, h.Begin
	add := func(begin, end time.Time, text string) {
		list = append(list, moment{begin, text})
		if begin.Before(first) {
			first = begin
		}
		if end.After(last) {
			last = end
		}
	}
	for _, o := range h.Operations {
		if v.Order != "" && o.Order == v.Order || v.Webhook != "" && o.Webhook == v.Webhook {
			add(o.Begin, o.End, fmt.Sprintf("operation %d %s of %s: %s %d %s, %d tries, until %.3f %s",
				o.Number, o.Kind, o.Site, o.Result, o.Status, o.Code, o.Tries, o.End.Sub(h.Begin).Seconds(), o.Detail))
		}
	}
	for _, r := range h.Requests {
		if v.Event != "" && r.Event == v.Event && (v.Webhook == "" || r.Webhook == v.Webhook) ||
			v.Event == "" && v.Order != "" && bytes.Contains(r.Body, []byte(v.Order)) {
			add(r.At, r.Answered, fmt.Sprintf("POST of event %s to webhook %s: %d, %s, position %s, resource %s", r.Event,
				r.Webhook, r.Status, r.Behavior, r.Header.Get("X-Webhook-Position"), r.Header.Get("X-Webhook-Resource")))
		}
	}
	for _, d := range h.Disturbances {
		if len(list) > 0 && d.End.After(first.Add(-5*time.Second)) && d.Begin.Before(last.Add(5*time.Second)) {
			list = append(list,
				moment{d.Begin, strings.TrimSpace("begin of " + d.Fault + " " + d.Detail)}, moment{d.End, "end of " + d.Fault})
		}
	}
	slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	return list
}

// queries select the rows of a timeline by order, event and webhook; "" does not select.
var queries = [...]struct{ table, query string }{
	{"orders", "SELECT to_jsonb(o) FROM orders o WHERE id = @order"},
	{"order_history", "SELECT to_jsonb(o) FROM order_history o WHERE order_id = @order ORDER BY version"},
	{"payments", "SELECT to_jsonb(p) FROM payments p WHERE order_id = @order ORDER BY id"},
	{"refunds", "SELECT to_jsonb(r) FROM refunds r WHERE order_id = @order ORDER BY id"},
	{"subscriptions", `SELECT to_jsonb(s) - '{secret,previous_secret,headers}'::text[] FROM subscriptions s
		WHERE id = @webhook`},
	{"outbox", `SELECT to_jsonb(o) FROM outbox o WHERE id = @event OR @event = '' AND @order <> '' AND subject = @order
		ORDER BY number`},
	{"event_log", "SELECT to_jsonb(e) FROM event_log e WHERE id = @event"},
	{"undispatched", "SELECT to_jsonb(u) FROM undispatched u WHERE event_id = @event"},
	{"deliveries", `SELECT to_jsonb(d) FROM deliveries d WHERE @webhook IN ('', subscription_id) AND (event_id = @event
		OR @event = '' AND @order <> '' AND event_id IN (SELECT id FROM outbox WHERE subject = @order)) ORDER BY id`},
	{"attempts", `SELECT to_jsonb(a) - 'response_body' FROM attempts a WHERE @webhook IN ('', subscription_id)
		AND event_id = @event ORDER BY id`},
	{"turns", `SELECT to_jsonb(t) FROM turns t WHERE delivery_id IN
		(SELECT id FROM deliveries WHERE event_id = @event AND @webhook IN ('', subscription_id))`},
}

// rows returns the lines from the database.
func (w *world) rows(ctx context.Context, v violation) (lines []string, err error) {
	conn, err := pgx.Connect(ctx, w.SuperuserURL())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	for _, q := range queries {
		rows, err := conn.Query(ctx, q.query, pgx.NamedArgs{"order": v.Order, "event": v.Event, "webhook": v.Webhook})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.table, err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.table, err)
		}
		for _, row := range list {
			lines = append(lines, fmt.Sprintf("%8s %s", q.table, row))
		}
	}
	return lines, nil
}

// lastLines returns the end of the output of a process.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
