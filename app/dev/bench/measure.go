package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"go.temporal.io/sdk/activity"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence"
)

func activityNamed(name string) activity.RegisterOptions { return activity.RegisterOptions{Name: name} }

// bench holds what all runs share.
type bench struct {
	options
	programs harness.Programs
	infra    *harness.Infra
	bar      *progressbar.ProgressBar
	db       *persistence.DB
	stores   []store
	receiver *receiver

	bare      *exec.Cmd
	bareIn    io.WriteCloser
	bareLines *bufio.Scanner
}

type store struct {
	id      app.StoreID
	view    app.StoreViewID
	product app.ProductID
	webhook app.SubscriptionID
}

func newBench(ctx context.Context, o options, programs harness.Programs, infra *harness.Infra, bar *progressbar.ProgressBar) (*bench, error) {
	env := infra.Ready.Env
	keyring, err := app.NewKeyring(app.NewSecret(env["COMANDA_SECRET_KEYS"]))
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, programs: programs, infra: infra, bar: bar}
	if b.db, err = persistence.Open(persistence.Config{URL: env["DATABASE_URL"], Sealer: keyring.Sealer()}); err != nil {
		return nil, err
	}
	if b.receiver, err = b.newReceiver(); err != nil {
		return nil, err
	}
	for i := range o.stores {
		s, err := b.open(ctx, fmt.Sprintf("bench-%d.example", i), b.receiver)
		if err != nil {
			return nil, err
		}
		b.stores = append(b.stores, s)
	}
	return b, b.startBare(infra.Ready.TemporalAddress)
}

func (b *bench) close() {
	b.bareIn.Close()
	b.bare.Wait()
	b.receiver.close()
	b.db.Close()
}

// open opens a store with one product, and one webhook of a receiver.
func (b *bench) open(ctx context.Context, domain string, to *receiver) (store, error) {
	now := time.Now()
	_, ids, err := b.db.CreateWebsite(ctx, now, persistence.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise},
		persistence.NewStore{Name: domain, CountryCode: "DE", Timezone: "Europe/Berlin", Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}}})
	if err != nil {
		return store{}, err
	}
	user := persistence.NewUser{Email: "owner@" + domain, Name: "Owner", PasswordHash: "-", Roles: map[app.StoreID]app.Role{ids[0]: app.RoleOwner}}
	owner, err := b.db.CreateUser(ctx, now, user)
	if err != nil {
		return store{}, err
	}
	session, err := b.db.StartSession(ctx, now, app.Actor{}, app.User{ID: owner}, "", time.Hour)
	if err != nil {
		return store{}, err
	}
	product, err := b.db.CreateProduct(ctx, now, ids[0], app.Product{Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true}, nil, nil)
	if err != nil {
		return store{}, err
	}
	webhook, err := b.db.CreateSubscription(ctx, now, ids[0], app.Actor{}, app.NewSubscription{
		URL: to.url, Events: []app.EventType{app.EventOrderCreated}, Secret: app.NewSecret("a secret of the bench, 32 bytes or more"),
	}, nil, nil)
	return store{ids[0], session.Stores[0].StoreViews[0].ID, product.ID, webhook.ID}, err
}

// place places the i-th order, in one of the stores, and returns its id.
func (b *bench) place(ctx context.Context, i int) (app.OrderID, error) {
	s := b.stores[i%len(b.stores)]
	order, err := b.db.PlaceOrder(ctx, time.Now(), s.id, app.NewOrder{
		Items: []app.NewOrderItem{{ProductID: s.product, Quantity: 2}}, FulfillmentType: app.FulfillmentPickup, Source: app.SourceAPI,
		Guest: app.OrderCustomer{Name: "Ada", Email: fmt.Sprintf("ada%d@example.com", i)}, StoreViewID: s.view,
	}, nil, nil)
	return order.ID, err
}

func (b *bench) startBare(address string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b.bare = exec.Command(self, "-bare", address, "-n", fmt.Sprint(b.events))
	b.bare.Stderr = os.Stderr
	if b.bareIn, err = b.bare.StdinPipe(); err != nil {
		return err
	}
	out, err := b.bare.StdoutPipe()
	if err != nil {
		return err
	}
	b.bareLines = bufio.NewScanner(out)
	return b.bare.Start()
}

// throughput alternates between bare runs and ours, and returns the rounds with the median
// of their ratios.
func (b *bench) throughput(ctx context.Context) (rounds []round, ratio float64, err error) {
	var ratios []float64
	for i := range b.rounds {
		b.bar.Describe(fmt.Sprintf("bare limit, round %d", i+1))
		bare, err := b.runBare(i)
		if err != nil {
			return nil, 0, err
		}
		b.bar.Describe(fmt.Sprintf("deliveries, round %d", i+1))
		profile := ""
		if i == b.rounds-1 {
			profile = b.profile
		}
		ours, err := b.runOurs(ctx, profile)
		if err != nil {
			return nil, 0, err
		}
		rounds = append(rounds, round{bare, ours, ours.PerSecond / bare.PerSecond})
		ratios = append(ratios, ours.PerSecond/bare.PerSecond)
	}
	slices.Sort(ratios)
	return rounds, ratios[(len(ratios)-1)/2], nil
}

func (b *bench) runBare(round int) (figures, error) {
	before, err := spent(b.bare.Process.Pid, b.infra.PID)
	if err != nil {
		return figures{}, err
	}
	fmt.Fprintln(b.bareIn, round)
	if !b.bareLines.Scan() {
		return figures{}, errors.New("the bare worker ended")
	}
	var result bareResult
	if err := json.Unmarshal(b.bareLines.Bytes(), &result); err != nil {
		return figures{}, err
	}
	after, err := spent(b.bare.Process.Pid, b.infra.PID)
	b.bar.Add(b.events)
	return figures{Count: b.events, PerSecond: float64(b.events-1) / result.Seconds, CPU: after.since(before, b.events)}, err
}

// runOurs places all orders first, so that placing them costs nothing while deliveries are
// measured, then starts a worker: from the first arrival to the last. With the name of a
// file it profiles the worker's first seconds.
func (b *bench) runOurs(ctx context.Context, profile string) (figures, error) {
	if err := b.placeAll(ctx); err != nil {
		return figures{}, err
	}
	b.receiver.expect(b.events)
	worker, err := b.programs.StartComanda(ctx, b.infra, "worker", nil)
	if err != nil {
		return figures{}, err
	}
	defer worker.Kill()
	if err := b.receiver.wait(ctx, b.receiver.first); err != nil {
		return figures{}, err
	}
	before, err := spent(worker.PID, b.infra.PID)
	if err != nil {
		return figures{}, err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- profileTo(ctx, worker, profile) }()
	already, began := b.receiver.count(), time.Now()
	if err := b.receiver.wait(ctx, b.receiver.complete); err != nil {
		return figures{}, err
	}
	took, count := time.Since(began), b.receiver.count()-already
	after, err := spent(worker.PID, b.infra.PID)
	if err != nil {
		return figures{}, err
	}
	if err := <-profiled; err != nil {
		return figures{}, err
	}
	stopping, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	f := figures{Count: count, PerSecond: float64(count) / took.Seconds(), CPU: after.since(before, count), Doubled: b.receiver.doubled()}
	return f, worker.Stop(stopping)
}

// profileTo writes a profile of a process's next seconds to a file; none if that has no name.
func profileTo(ctx context.Context, process *harness.Process, file string) error {
	if file == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, process.Admin+"/debug/pprof/profile?seconds=10", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile the worker: %s", response.Status)
	}
	profile, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, profile, 0o644)
}

func (b *bench) placeAll(ctx context.Context) error {
	var wait sync.WaitGroup
	failed := make(chan error, 8)
	for lane := range 8 {
		wait.Go(func() {
			for i := lane; i < b.events; i += 8 {
				if _, err := b.place(ctx, i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(failed)
	return <-failed
}

// burst commits n events of a store at once, without their orders: here it is the
// deliveries that count.
func (b *bench) burst(ctx context.Context, s store, n int) error {
	const most = 5000 // in one transaction
	for ; n > 0; n -= most {
		var ids, bodies []string
		var at []time.Time
		for range min(n, most) {
			now := time.Now()
			event, err := app.NewEvent(app.EventOrderCreated, s.id, now, map[string]string{"id": string(app.NewID[app.OrderID](now)), "note": strings.Repeat(".", 800)})
			if err != nil {
				return err
			}
			ids, bodies, at = append(ids, string(event.ID)), append(bodies, string(event.Body)), append(at, now)
		}
		_, err := b.db.System().DB.ExecContext(ctx, `
			WITH event AS (
				INSERT INTO outbox (id, store_id, type, body, occurred_at)
				SELECT e.id, $1, $2, e.body, e.at FROM unnest($3::text[], $4::text[], $5::timestamptz[]) AS e (id, body, at) RETURNING id
			) SELECT pg_notify('comanda_outbox', '') FROM event LIMIT 1`, s.id, app.EventOrderCreated, ids, bodies, at)
		if err != nil {
			return err
		}
	}
	return nil
}
