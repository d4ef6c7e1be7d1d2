package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
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
	if b.receiver, err = newReceiver(env["COMANDA_TLS_CERT"], env["COMANDA_TLS_KEY"], func() { bar.Add(1) }); err != nil {
		return nil, err
	}
	if err := b.seed(ctx); err != nil {
		return nil, err
	}
	return b, b.startBare(infra.Ready.TemporalAddress)
}

func (b *bench) close() {
	b.bareIn.Close()
	b.bare.Wait()
	b.receiver.server.CloseClientConnections()
	b.receiver.server.Close()
	b.db.Close()
}

// seed opens the stores, each with one product and one webhook.
func (b *bench) seed(ctx context.Context) error {
	now := time.Now()
	for i := range b.options.stores {
		domain := fmt.Sprintf("bench-%d.example", i)
		_, ids, err := b.db.CreateWebsite(ctx, now, persistence.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise},
			persistence.NewStore{Name: domain, CountryCode: "DE", Timezone: "Europe/Berlin", Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}}})
		if err != nil {
			return err
		}
		user := persistence.NewUser{Email: "owner@" + domain, Name: "Owner", PasswordHash: "-", Roles: map[app.StoreID]app.Role{ids[0]: app.RoleOwner}}
		owner, err := b.db.CreateUser(ctx, now, user)
		if err != nil {
			return err
		}
		session, err := b.db.StartSession(ctx, now, app.Actor{}, app.User{ID: owner}, "", time.Hour)
		if err != nil {
			return err
		}
		product, err := b.db.CreateProduct(ctx, now, ids[0], app.Product{Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true}, nil, nil)
		if err != nil {
			return err
		}
		_, err = b.db.CreateSubscription(ctx, now, ids[0], app.Actor{}, app.NewSubscription{
			URL: b.receiver.url, Events: []app.EventType{app.EventOrderCreated}, Secret: app.NewSecret("a secret of the bench, 32 bytes or more"),
		}, nil, nil)
		if err != nil {
			return err
		}
		b.stores = append(b.stores, store{ids[0], session.Stores[0].StoreViews[0].ID, product.ID})
	}
	return nil
}

// place places the i-th order and returns its id.
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

func (b *bench) measure(ctx context.Context) (report, error) {
	r := report{Rate: b.rate}
	var ratios []float64
	for i := range b.rounds {
		b.bar.Describe(fmt.Sprintf("bare limit, round %d", i+1))
		bare, err := b.runBare(i)
		if err != nil {
			return r, err
		}
		b.bar.Describe(fmt.Sprintf("deliveries, round %d", i+1))
		ours, err := b.runOurs(ctx)
		if err != nil {
			return r, err
		}
		r.Rounds = append(r.Rounds, round{bare, ours, ours.PerSecond / bare.PerSecond})
		ratios = append(ratios, ours.PerSecond/bare.PerSecond)
	}
	slices.Sort(ratios)
	r.Ratio = ratios[(len(ratios)-1)/2]
	b.bar.Describe("latency")
	var err error
	r.LatencyP50, r.LatencyP99, err = b.latency(ctx)
	return r, err
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
// measured, then starts a worker: from the first arrival to the last.
func (b *bench) runOurs(ctx context.Context) (figures, error) {
	if err := b.placeAll(ctx); err != nil {
		return figures{}, err
	}
	b.receiver.reset(b.events)
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
	already, began := b.receiver.count(), time.Now()
	if err := b.receiver.wait(ctx, b.receiver.complete); err != nil {
		return figures{}, err
	}
	took, count := time.Since(began), b.receiver.count()-already
	after, err := spent(worker.PID, b.infra.PID)
	if err != nil {
		return figures{}, err
	}
	stopping, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	f := figures{Count: count, PerSecond: float64(count) / took.Seconds(), CPU: after.since(before, count), Doubled: b.receiver.doubled()}
	return f, worker.Stop(stopping)
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

// latency places orders at an even pace and returns the median and the 99th percentile of
// the time from each commit to its arrival, in milliseconds.
func (b *bench) latency(ctx context.Context) (p50, p99 float64, err error) {
	worker, err := b.programs.StartComanda(ctx, b.infra, "worker", nil)
	if err != nil {
		return 0, 0, err
	}
	defer worker.Kill()
	n := int(b.pace.Seconds()) * b.rate
	b.receiver.reset(n)
	committed := map[app.OrderID]time.Time{}
	tick := time.NewTicker(time.Second / time.Duration(b.rate))
	defer tick.Stop()
	for i := range n {
		<-tick.C
		id, err := b.place(ctx, i)
		if err != nil {
			return 0, 0, err
		}
		committed[id] = time.Now()
	}
	if err := b.receiver.wait(ctx, b.receiver.complete); err != nil {
		return 0, 0, err
	}
	var ms []float64
	for id, at := range b.receiver.arrivals() {
		ms = append(ms, float64(at.Sub(committed[id]).Microseconds())/1000)
	}
	slices.Sort(ms)
	return ms[len(ms)/2], ms[len(ms)*99/100], nil
}

// receiver is an HTTPS server that answers at once and notes what arrives when.
type receiver struct {
	server *httptest.Server
	url    string
	tick   func()

	lock            sync.Mutex
	arrived         map[app.OrderID]time.Time
	expected, twice int
	first, complete chan struct{}
}

func newReceiver(cert, key string, tick func()) (*receiver, error) {
	certificate, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	r := &receiver{tick: tick}
	r.reset(0)
	r.server = httptest.NewUnstartedServer(r)
	r.server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	r.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	r.server.StartTLS()
	r.url = r.server.URL
	return r, nil
}

// ServeHTTP notes an arrival.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	now := time.Now()
	var event struct{ Data struct{ ID app.OrderID } }
	if err := json.NewDecoder(request.Body).Decode(&event); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
	r.lock.Lock()
	defer r.lock.Unlock()
	if _, known := r.arrived[event.Data.ID]; known {
		r.twice++
		return
	}
	r.arrived[event.Data.ID] = now
	r.tick()
	if len(r.arrived) == 1 {
		close(r.first)
	}
	if len(r.arrived) == r.expected {
		close(r.complete)
	}
}

func (r *receiver) reset(expected int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.arrived, r.expected, r.twice = map[app.OrderID]time.Time{}, expected, 0
	r.first, r.complete = make(chan struct{}), make(chan struct{})
}

func (r *receiver) wait(ctx context.Context, done chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Minute):
		return fmt.Errorf("only %d of %d events have arrived", r.count(), r.expected)
	}
}

func (r *receiver) count() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.arrived)
}

func (r *receiver) doubled() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.twice
}

func (r *receiver) arrivals() map[app.OrderID]time.Time {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.arrived
}
