package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/ordering"
)

// Figures of the jobs and mails.
const (
	keyAlone  = "aloneS"
	keyBeside = "besideS"
	keyLater  = "laterS"
)

const (
	// resets is the number of password resets of the other tenant, alone and beside the neighbour.
	resets = 10
	// ttl is the lifetime of the sessions of customers, which nobody uses.
	ttl = time.Hour
)

// mailRun is a run with a mail server.
type mailRun struct {
	db       *persistence.DB
	worker   *harness.Process
	expected atomic.Value  // email whose mails are announced
	arrived  chan struct{} // a mail for it
}

// account is a customer of a store.
type account struct {
	store    app.StoreID
	customer app.CustomerID
	email    string
}

// jobs measures the time from the request of a password reset to the arrival of its mail at the mail server, alone and
// beside a neighbour who causes -jobs jobs and as many mails.
func jobs(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.newStage()
	if err != nil {
		return sample{}, err
	}
	run := &mailRun{arrived: make(chan struct{}, 2*resets)}
	server, stop, err := smtptest.Start(ctx, smtptest.Config{Certificate: &s.certificate, Reject: run.announce})
	if err != nil {
		return sample{}, err
	}
	defer stop()
	if run.db, err = b.open(true); err != nil {
		return sample{}, err
	}
	defer run.db.Close()
	var accounts [2][]account
	for i, customers := range []int{1 + 2*resets, b.jobs} { // an address gets only a number of mails an hour
		t, err := s.newTenant(ctx)
		if err != nil {
			return sample{}, err
		}
		if accounts[i], err = run.register(ctx, t, customers); err != nil {
			return sample{}, err
		}
	}
	others, neighbours := accounts[0], accounts[1]
	if run.worker, err = b.startWorker(ctx, p, false, map[string]string{"COMANDA_SMTP_URL": server.URL()}); err != nil {
		return sample{}, err
	}
	defer run.worker.Kill()
	if _, err := run.slowest(ctx, others[:1]); err != nil {
		return sample{}, fmt.Errorf("warm-up: %w", err)
	}
	alone, err := run.slowest(ctx, others[1:1+resets])
	if err != nil {
		return sample{}, err
	}
	if err := run.reset(ctx, neighbours); err != nil {
		return sample{}, err
	}
	if err := run.soldOut(ctx, neighbours[0].store, b.jobs); err != nil {
		return sample{}, err
	}
	beside, err := run.slowest(ctx, others[1+resets:])
	return sample{values: map[string]float64{
		keyAlone: alone.Seconds(), keyBeside: beside.Seconds(), keyLater: max(beside-alone, 0).Seconds(),
	}}, err
}

// announce announces the mails for the expected address. It rejects none.
func (r *mailRun) announce(stage, address string) *smtptest.Rejection {
	if stage == "RCPT" && address == r.expected.Load() {
		r.arrived <- struct{}{}
	}
	return nil
}

// register creates customers of a tenant.
func (r *mailRun) register(ctx context.Context, t *tenant, n int) ([]account, error) {
	accounts := make([]account, n)
	err := concurrently(n, func(i int) error {
		now := time.Now()
		email := strings.ToLower(string(app.NewID[app.CustomerID](now))) + "@bench.example"
		session, err := r.db.RegisterCustomer(ctx, now, t.store, app.Actor{}, identity.NewCustomer{
			Email: email, FirstName: "Ada", LastName: "Lovelace", PasswordHash: "-",
		}, ttl)
		accounts[i] = account{t.store, session.Customer.ID, email}
		return err
	})
	return accounts, err
}

// reset requests the password resets of accounts.
func (r *mailRun) reset(ctx context.Context, of []account) error {
	return concurrently(len(of), func(i int) error {
		return r.db.MailCustomerReset(ctx, time.Now(), of[i].store, of[i].customer, app.NewSecret(rand.Text()))
	})
}

// slowest requests the password resets of accounts, one after the other has arrived, and returns the longest time until
// the arrival.
func (r *mailRun) slowest(ctx context.Context, of []account) (slowest time.Duration, err error) {
	for i := range of {
		began := time.Now()
		r.expected.Store(of[i].email)
		if err := r.reset(ctx, of[i:i+1]); err != nil {
			return slowest, err
		}
		err := until(ctx, r.worker, "a mail has arrived", func() (bool, error) {
			select {
			case <-r.arrived:
				slowest = max(slowest, time.Since(began))
				return true, nil
			default:
				return false, nil
			}
		})
		if err != nil {
			return slowest, err
		}
	}
	return slowest, nil
}

// soldOut imports products that are sold out for an hour. Each causes a job, which starts a workflow that waits for the
// end of the hour.
func (r *mailRun) soldOut(ctx context.Context, store app.StoreID, n int) error {
	now := time.Now()
	end := app.At(now.Add(time.Hour))
	rows := make([]ordering.ProductRow, n)
	for i := range rows {
		sku := strconv.Itoa(i)
		rows[i] = ordering.ProductRow{SKU: sku, Apply: func(p *app.Product, _ bool) []app.Detail {
			*p = app.Product{
				SKU: sku, Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true, SoldOutUntil: &end,
			}
			return nil
		}}
	}
	_, err := r.db.ImportProducts(ctx, now, store, app.Actor{}, rows, false, nil)
	return err
}

// concurrently calls f with 0 to n-1, as many at a time as there are clients, and returns one of its errors.
func concurrently(n int, f func(i int) error) error {
	var next atomic.Int64
	var running sync.WaitGroup
	failed := make(chan error, clientConnections)
	for range min(n, clientConnections) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	running.Wait()
	close(failed)
	return <-failed
}
