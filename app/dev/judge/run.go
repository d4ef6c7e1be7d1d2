package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// clients is the number of operations of one site that are made concurrently.
const clients = 6

// span is a range of numbers of operations, a flag.
type span struct{ first, last int }

// all is the span of all operations.
var all = span{0, math.MaxInt}

func (s *span) String() string { return fmt.Sprintf("%d-%d", s.first, s.last) }

// Set parses a flag.
func (s *span) Set(text string) error {
	_, err := fmt.Sscanf(text, "%d-%d", &s.first, &s.last)
	return err
}

// of returns the operations of a plan within the span, without the time before the first one, and their duration.
func (s *span) of(plan []planned) (part []planned, lasts time.Duration) {
	for _, p := range plan {
		if p.Number < s.first || p.Number > s.last {
			continue
		}
		if part = append(part, p); len(part) == 1 {
			lasts = p.At
		}
	}
	begin := lasts
	for i := range part {
		part[i].At -= begin
		lasts = part[i].At
	}
	return part, lasts
}

// whole reports whether a run makes all operations of all sites.
func (o options) whole() bool { return o.operations == all && len(o.sites) == len(everywhere) }

// run makes the operations and the faults in an installation in a directory, waits until everything has ended, and
// reports the violations.
func run(ctx context.Context, o options, dir string, out io.Writer) (err error) {
	h := &history{Seed: o.seed, Lasts: o.lasts, Bursts: burstsOf(o.seed)}
	w, err := newWorld(ctx, dir, h.Bursts, o.faults)
	defer func() { err = errors.Join(err, w.stop()) }()
	if err != nil {
		return err
	}
	if err := watch(ctx, w.SuperuserURL()); err != nil {
		return fmt.Errorf("watch the database: %w", err)
	}
	fmt.Fprintln(out, "Setting up the websites")
	s, err := newSites(ctx, w, h, o.sites)
	defer s.close()
	if err != nil {
		return fmt.Errorf("set up websites: %w", err)
	}
	h.Begin = time.Now()
	readers, err := startReaders(ctx, s)
	defer readers.end()
	if err != nil {
		return err
	}
	if err := act(ctx, o, w, s, h, out); err != nil {
		return err
	}
	h.End = time.Now()
	s.heal()
	fmt.Fprintf(out, "%d operations, %d faults, %d requests of webhooks, %s of calm time; waiting for the rest\n",
		len(h.Operations), len(h.Disturbances), len(h.Requests), h.calmTimes().Round(time.Second))
	open, err := settle(ctx, w, o.ends)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Everything has ended after %s: %t\n", time.Since(h.End).Round(time.Second), open == "")
	rules := checkers
	if open != "" {
		// What still runs changes the state while it is read, so that it would break other rules.
		rules = slices.DeleteFunc(slices.Clone(checkers), func(c checker) bool { return c.name != "ends" })
		w.keepGoroutines(ctx)
	}
	if err := readers.finish(ctx); err != nil {
		return err
	}
	if err := s.readCashUps(ctx); err != nil {
		return fmt.Errorf("read the cash-up: %w", err)
	}
	if err := s.resolve(ctx); err != nil {
		return fmt.Errorf("resolve the webhooks: %w", err)
	}
	state, err := loadState(ctx, w, h)
	if err != nil {
		return fmt.Errorf("load the state: %w", err)
	}
	if h.Mails, err = w.mailIDs(); err != nil {
		return fmt.Errorf("read the mails: %w", err)
	}
	h.lock.Lock() // receivers may still get requests
	defer h.lock.Unlock()
	o.total.add(h)
	var made totals
	made.add(h)
	if err := made.printTable(out); err != nil {
		return err
	}
	forget(h, state)
	if err := h.write(filepath.Join(dir, "history.json")); err != nil {
		return err
	}
	found := append(own(w, h, open), checkCalm(o, h)...)
	if o.whole() && h.Lasts >= calmFrom {
		found = append(found, made.ineffective()...)
	}
	for _, c := range rules {
		for _, v := range c.check(h, state) {
			v.Checker = c.name
			found = append(found, v)
		}
	}
	if open == "" {
		found = append(found, checkJudged(o, h, state, out)...)
	}
	h.printReaders(out)
	if o.measured != nil {
		maps.Copy(o.measured, delaysOf(h, state))
		o.measured.print(out)
	}
	if o.alone != nil {
		found = append(found, checkIsolation(o.alone, o.measured)...)
	}
	repeated := duplicates(h, state)
	o.total.repeated += repeated
	fmt.Fprintf(out, "%d requests beyond the recorded attempts, during faults\n", repeated)
	return report(ctx, w, h, found, out)
}

// act makes the operations of the plan and the faults at the same time. Afterwards the installation is whole.
func act(ctx context.Context, o options, w *world, s *sites, h *history, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	plan, lasts := newPlan(o.seed, o.lasts), o.lasts
	if o.operations != all {
		plan, lasts = o.operations.of(plan)
	}
	var running sync.WaitGroup
	running.Go(func() {
		perform(ctx, s, h, slices.DeleteFunc(plan, func(p planned) bool { return !slices.Contains(o.sites, p.Site) }))
	})
	err := w.nemesis(ctx, h, o, h.Begin.Add(lasts), out)
	if err != nil {
		cancel()
	}
	running.Wait()
	if err != nil {
		return err
	}
	return errors.Join(w.startParts(ctx), ctx.Err())
}

// perform makes the operations of a plan at their times. A site whose clients are all busy makes them later.
func perform(ctx context.Context, s *sites, h *history, plan []planned) {
	var running sync.WaitGroup
	defer running.Wait()
	free := map[string]chan struct{}{}
	for _, p := range plan {
		if wait(ctx, time.Until(h.Begin.Add(p.At))) != nil {
			return
		}
		site := free[p.Site]
		if site == nil {
			site = make(chan struct{}, clients)
			free[p.Site] = site
		}
		running.Go(func() {
			site <- struct{}{}
			defer func() { <-site }()
			if ctx.Err() == nil {
				h.addOperation(s.perform(ctx, p))
			}
		})
	}
}

// unfinished selects the numbers of rows that mean that something has not ended. A mail whose workflow Temporal has
// lost, or that a restored database shows as queued again, starts again after two hours: $1 is the end of the last
// loss.
const unfinished = `SELECT what, n FROM (
	SELECT 'events to dispatch', count(*) FROM undispatched UNION ALL
	SELECT status || ' deliveries', count(*) FROM deliveries WHERE status IN ('queued', 'pending', 'retrying')
		GROUP BY status UNION ALL
	SELECT 'mails', count(*) FROM mails WHERE status = 'queued' AND created_at >= $1 UNION ALL
	SELECT 'replays', count(*) FROM replays WHERE status = 'running' UNION ALL
	SELECT 'orders to accept', count(*) FROM acceptances UNION ALL
	SELECT 'products to sell again', count(*) FROM products WHERE sold_out_until IS NOT NULL AND deleted_at IS NULL
		UNION ALL
	SELECT kind || ' jobs', count(*) FROM jobs GROUP BY kind UNION ALL
	SELECT 'reorderings', count(*) FROM subscriptions WHERE reordering AND deleted_at IS NULL UNION ALL
	SELECT 'dead letters of deleted webhooks', count(*) FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id
		WHERE d.status = 'dead_letter' AND s.deleted_at IS NOT NULL
) AS counted (what, n) WHERE n > 0`

// settle waits until everything has ended, at most for some time. It returns the rest.
func settle(ctx context.Context, w *world, most time.Duration) (open string, err error) {
	for deadline := time.Now().Add(most); ; {
		if open, err = w.unfinished(ctx); err != nil || open == "" || time.Now().After(deadline) {
			return open, err
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return "", err
		}
	}
}

func (w *world) unfinished(ctx context.Context) (string, error) {
	var lost time.Time
	for _, l := range w.losses {
		lost = l.End
	}
	rows, err := w.db.System().DB.QueryContext(ctx, unfinished, lost)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var what string
		var n int
		if err := rows.Scan(&what, &n); err != nil {
			return "", err
		}
		list = append(list, fmt.Sprintf("%d %s", n, what))
	}
	return strings.Join(list, ", "), rows.Err()
}

// own returns the violations that need no state of the database.
func own(w *world, h *history, open string) (found []violation) {
	for _, o := range h.Operations {
		if o.Result == done && kindOf(o.Kind).refused {
			text := fmt.Sprintf("operation %d, %s of %s, was not refused", o.Number, o.Kind, o.Site)
			found = append(found, violation{
				Checker: "operations", Text: text, Order: o.Order, Webhook: o.Webhook, At: o.End,
			})
		}
	}
	for _, text := range w.failures {
		found = append(found, violation{Checker: "processes", Text: text})
	}
	if open != "" {
		found = append(found, violation{Checker: "everything ends", Text: "not ended: " + open})
	}
	return found
}

// checkCalm checks that a run had a calm time: several checkers judge nothing during faults and their aftermath. A part
// of a run may be too short.
func checkCalm(o options, h *history) []violation {
	if !o.whole() || h.calmTimes() > 0 {
		return nil
	}
	return []violation{{Checker: "calm time", Text: "no calm time was judged: the faults are too close together"}}
}
