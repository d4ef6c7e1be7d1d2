// Package sender is a minimal sender of webhooks: the limit of what a queue in PostgreSQL delivers without workflows,
// plans, fairness and lists. It claims sends with a lease, makes signed POSTs and logs each attempt, so that every
// event arrives at least once.
package sender

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed" // for the statements
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/comanda-dev/comanda/app"
)

//go:embed install.sql
var install string

//go:embed claim.sql
var claimStatement string

//go:embed record.sql
var recordStatement string

const (
	// parallel is the number of concurrent attempts.
	parallel = 64
	// claimFrom is the number of free places from which the next sends are claimed: many of them in one statement under
	// load, one immediately otherwise.
	claimFrom = parallel / 4
	// lease is the time after which a claimed send without a recorded attempt is claimed again.
	lease = time.Minute
	// poll is the time between two claims without a notification.
	poll = time.Second
	// timeout limits a POST.
	timeout = 10 * time.Second
)

// Webhook is the webhook of a store.
type Webhook struct {
	Store  app.StoreID
	URL    string
	Secret string
}

// Install creates the sender's tables as the owner of the product's tables. From then on, the events that the product
// writes are sent by [Run], and not by the product.
func Install(ctx context.Context, owner *pgx.Conn, webhooks []Webhook) error {
	return pgx.BeginFunc(ctx, owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, install); err != nil {
			return err
		}
		for _, w := range webhooks {
			const statement = "INSERT INTO minimal.webhooks VALUES ($1, $2, $3)"
			if _, err := tx.Exec(ctx, statement, w.Store, w.URL, w.Secret); err != nil {
				return err
			}
		}
		return nil
	})
}

// Uninstall deletes the sender's tables. The product sends the following events.
func Uninstall(ctx context.Context, owner *pgx.Conn) error {
	_, err := owner.Exec(ctx, "DROP TRIGGER redirect ON outbox; DROP SCHEMA minimal CASCADE")
	return err
}

// Config is the configuration of [Run].
type Config struct {
	URL     string         // of the product's database, for its login role
	RootCAs *x509.CertPool // of the receivers
	RetryIn time.Duration  // delay after a failed attempt
}

// send is a claimed send.
type send struct {
	id          app.EventID
	number      int
	body        []byte
	url, secret string
}

// attempt is the outcome of a POST.
type attempt struct {
	send
	at     time.Time
	took   time.Duration
	status int // 0 = no response
	err    string
}

// sender is the state of [Run].
type sender struct {
	Config
	client *http.Client
	made   chan attempt
}

// Run sends until ctx is done. It returns an error if the database does not respond as expected, because the minimal
// sender does not reconnect.
func Run(ctx context.Context, config Config) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s := sender{Config: config, made: make(chan attempt, parallel), client: &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12},
			Protocols:       protocols, DisableCompression: true, MaxIdleConnsPerHost: parallel,
		},
	}}
	var conns [3]*pgx.Conn
	for i := range conns {
		conn, err := s.connect(ctx)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		conns[i] = conn
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	wake, free := make(chan struct{}, 1), make(chan int, parallel)
	free <- parallel
	var running sync.WaitGroup
	for _, part := range []func() error{
		func() error { return listen(ctx, conns[0], wake) },
		func() error { return s.claimAll(ctx, conns[1], wake, free) },
		func() error { return s.recordAll(ctx, conns[2], free) },
	} {
		running.Go(func() { stop(part()) })
	}
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// connect opens a session with the settings of the product's relays.
func (s *sender) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(s.URL)
	if err != nil {
		return nil, err
	}
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		const settings = "SET ROLE comanda_system; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off"
		return conn.Exec(ctx, settings).Close()
	}
	return pgx.ConnectConfig(ctx, config)
}

// listen passes on the notifications of committed events.
func listen(ctx context.Context, conn *pgx.Conn, wake chan<- struct{}) error {
	if _, err := conn.Exec(ctx, "LISTEN comanda_outbox"); err != nil {
		return err
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// claimAll claims sends for the free places and makes their attempts.
func (s *sender) claimAll(ctx context.Context, conn *pgx.Conn, wake <-chan struct{}, free <-chan int) error {
	places := 0
	for {
		for places < claimFrom {
			select {
			case n := <-free:
				places += n
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		sends, err := claim(ctx, conn, places)
		if err != nil {
			return fmt.Errorf("claim sends: %w", err)
		}
		for _, each := range sends {
			go func() { s.made <- s.post(ctx, each) }()
		}
		places -= len(sends)
		for waiting := places > 0; waiting; { // nothing else is due
			select {
			case n := <-free:
				places += n
			case <-wake:
				waiting = false
			case <-time.After(poll):
				waiting = false
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func claim(ctx context.Context, conn *pgx.Conn, n int) ([]send, error) {
	rows, err := conn.Query(ctx, claimStatement, n, lease)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s send, err error) {
		return s, row.Scan(&s.id, &s.number, &s.body, &s.url, &s.secret)
	})
}

// post makes one attempt.
func (s *sender) post(ctx context.Context, to send) attempt {
	made := attempt{send: to, at: time.Now()}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(to.body))
	if err != nil {
		made.err = err.Error()
		return made
	}
	seconds := made.at.Unix()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Webhook-Id", string(to.id))
	request.Header.Set("X-Webhook-Timestamp", strconv.FormatInt(seconds, 10))
	request.Header.Set("X-Webhook-Signature", app.Sign(app.NewSecret(to.secret), seconds, to.body))
	response, err := s.client.Do(request)
	if made.took = time.Since(made.at); err != nil {
		made.err = err.Error()
		return made
	}
	made.status = response.StatusCode
	response.Body.Close()
	return made
}

// recordAll records attempts, those that have ended in the meantime in one statement, and frees their places.
func (s *sender) recordAll(ctx context.Context, conn *pgx.Conn, free chan<- int) error {
	for {
		var ended []attempt
		select {
		case one := <-s.made:
			ended = append(ended, one)
		case <-ctx.Done():
			return ctx.Err()
		}
		for n := len(s.made); n > 0; n-- {
			ended = append(ended, <-s.made)
		}
		if err := s.record(ctx, conn, ended); err != nil {
			return fmt.Errorf("record attempts: %w", err)
		}
		free <- len(ended)
	}
}

func (s *sender) record(ctx context.Context, conn *pgx.Conn, ended []attempt) error {
	var ids, errs []string
	var numbers, statuses []int
	var took []int64
	var at []time.Time
	for _, a := range ended {
		ids, numbers, statuses = append(ids, string(a.id)), append(numbers, a.number), append(statuses, a.status)
		errs, took, at = append(errs, a.err), append(took, a.took.Milliseconds()), append(at, a.at)
	}
	_, err := conn.Exec(ctx, recordStatement, ids, numbers, statuses, errs, took, at, s.RetryIn)
	return err
}
