// Package boot joins the parts of Comanda into processes. It is the only package that
// knows all the others.
package boot

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/workflows"
)

const (
	// patience is how long a process waits at its start for PostgreSQL and Temporal.
	patience = time.Minute
	// drainTimeout is how long requests under way may take when a process stops.
	drainTimeout = 20 * time.Second
)

// Run runs the parts of a process until ctx is done, then lets what is under way finish.
// ready is called once all of them work; nil is fine. It returns an error when a part
// cannot start, or breaks.
func Run(ctx context.Context, config Config, log zerolog.Logger, ready func()) error {
	metrics := newMetrics()
	db, err := persistence.Open(persistence.Config{URL: config.DatabaseURL.Reveal(), Sealer: config.keyring.Sealer(), Mails: config.smtp != nil, PlanWindow: config.PlanWindow, Ended: countEnded(metrics)})
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer db.Close()
	metrics.MustRegister(api.NewBacklog(db.Backlog, time.Now))
	if config.temporal.MetricsHandler, err = temporalMetrics(metrics); err != nil {
		return err
	}

	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	var handler *api.Server
	defer func() { // ends what has started when another part cannot
		stop()
		_ = group.Wait()
		if handler != nil {
			handler.Close()
		}
	}()
	health := &health{checks: []func(context.Context) error{db.Ping}}
	// Whoever supervises the process can ask it from the first moment on, however long it waits
	// for others.
	if err := listen(ctx, group, "COMANDA_ADMIN_LISTEN", config.AdminListen, nil, api.Admin(health.ready, metrics), log); err != nil {
		return err
	}
	if err := admit(ctx, db, log); err != nil {
		return err
	}
	if config.parts&Worker != 0 {
		if err := startWorker(ctx, group, config, db, metrics, health, log); err != nil {
			return err
		}
	}
	if config.parts&API != 0 {
		temporal, err := temporalClient(config, log)
		if err != nil {
			return err
		}
		defer temporal.Close()
		workflows := workflows.NewClient(temporal, workflows.Policy{}, workflows.JobPolicy{})
		handler = api.New(api.Config{
			DB: db, Keyring: config.keyring, Issuer: config.BaseURL, AccessTTL: config.AccessTokenTTL, RefreshTTL: config.RefreshTokenTTL,
			RefreshLeeway: config.RefreshReuseLeeway, SessionMaxAge: config.SessionMaxAge,
			TrustedProxies: config.TrustedProxies, RateLimit: config.AuthRateLimit, RateWindow: config.AuthRateWindow,
			CORSOrigins: config.CORSOrigins, Providers: config.providers(), ProviderCAs: config.egressCAs, Tester: workflows, Log: log, Metrics: metrics, Now: time.Now,
			WatchdogDays: config.WatchdogDays, WorkflowURL: config.workflowURL(), Stopping: ctx.Done(),
			DeadLetterRetention: config.DeadLetterRetention, WorkflowRetention: followRetention(ctx, group, config, workflows),
		})
		if err := listen(ctx, group, "COMANDA_LISTEN", config.Listen, config.certificate, handler, log); err != nil {
			return err
		}
	}
	health.started.Store(true)
	if ready != nil {
		ready()
	}
	return ignoreCancelled(group.Wait())
}

// admit waits for the database and refuses one that must not be used. One that answers, but
// does not let us in, is not waited for.
func admit(ctx context.Context, db *persistence.DB, log zerolog.Logger) error {
	var refusal error
	err := eventually(ctx, log, "PostgreSQL", func(ctx context.Context) error {
		refusal = nil
		err := db.Ping(ctx)
		if err != nil && app.CodeOf(err) != app.CodeUnavailable {
			refusal = fmt.Errorf("DATABASE_URL: %w", err)
			return nil
		}
		return err
	})
	if err = errors.Join(err, refusal); err != nil {
		return err
	}
	if err := db.CheckSchema(ctx); err != nil {
		return err
	}
	return db.CheckRole(ctx)
}

// startWorker starts the workers, then the relay that feeds them.
func startWorker(ctx context.Context, group *errgroup.Group, config Config, db *persistence.DB, metrics prometheus.Registerer, health *health, log zerolog.Logger) error {
	temporal, err := temporalClient(config, log)
	if err != nil {
		return err
	}
	policy := activities.DefaultDeliveryPolicy(config.DeliveryTimeout)
	deliveries := workflows.NewClient(temporal, workflows.Policy{
		Schedule: app.RetrySchedule(config.RetrySchedule), Retention: config.DeadLetterRetention, AttemptLimit: policy.AttemptLimit(),
	}, workflows.JobPolicy{Watchdog: app.WatchdogPolicy{Day: config.WatchdogDay, Days: config.WatchdogDays}})
	err = eventually(ctx, log, "Temporal", func(ctx context.Context) error {
		return workflows.EnsureSearchAttributes(ctx, temporal, namespaceOf(config.temporal))
	})
	if err != nil {
		temporal.Close()
		return err
	}
	burst, err := admitBursts(ctx, config, temporal, metrics, log)
	if err != nil {
		temporal.Close()
		return err
	}
	egress := activities.NewEgress(activities.EgressConfig{Allow: config.EgressAllow, RootCAs: config.egressCAs, Timeout: config.DeliveryTimeout})
	attempts := activities.NewDeliveries(db, egress, policy, time.Now, metrics, log)
	bursts := activities.NewBursts(attempts, db, deliveries, activities.DefaultBurstPolicy())
	stopTimeout := config.stopTimeout(policy)
	workers := workflows.NewWorkers(temporal, attempts, bursts,
		activities.NewMails(db, config.smtp, config.BaseURL, time.Now, metrics),
		activities.NewJobs(db, app.Retention{Bodies: config.DeadLetterRetention, Log: config.LogRetention}, time.Now), stopTimeout)
	workers.HandleTeardown(activities.NewTeardown(db, deliveries.CancelDelivery, time.Now))
	if err := workers.Start(); err != nil {
		temporal.Close()
		return fmt.Errorf("start the workers: %w", err)
	}
	if err := eventually(ctx, log, "Temporal", deliveries.StartRetention); err != nil {
		workers.Stop()
		temporal.Close()
		return err
	}
	health.checks = append(health.checks, deliveries.Ready)
	jobs := workflows.NewJobs(db, deliveries.StartJob, time.Now, log)
	listen := func(ctx context.Context, wake func()) error {
		return db.Listen(ctx, func() { wake(); jobs.Wake() })
	}
	relay := workflows.NewRelay(db, deliveries.StartClaims, listen, burst.limit(delivery.DefaultPolicy().Claim), time.Now, log)
	reconciler := workflows.NewReconciler(db, deliveries, config.ReconcileAfter, time.Now, metrics, log)
	group.Go(func() error {
		defer temporal.Close()
		defer stopWorkers(workers, bursts, stopTimeout, log)
		var starting sync.WaitGroup
		starting.Go(func() { jobs.Run(ctx) })
		starting.Go(func() { reconciler.Run(ctx) })
		relay.Run(ctx)
		starting.Wait()
		return nil
	})
	return nil
}

// stopWorkers stops the workers and waits for attempts in flight, also for those that have left
// their bursts.
func stopWorkers(workers *workflows.Workers, bursts *activities.Bursts, limit time.Duration, log zerolog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	workers.Stop()
	if err := bursts.Wait(ctx); err != nil {
		log.Warn().Err(err).Msg("attempts are still in flight; another worker makes them again")
	}
}

func namespaceOf(options client.Options) string {
	if options.Namespace == "" {
		return client.DefaultNamespace
	}
	return options.Namespace
}

// listen serves a handler until ctx is done, then lets requests under way finish.
func listen(ctx context.Context, group *errgroup.Group, name, address string, certificate *tls.Certificate, handler http.Handler, logger zerolog.Logger) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	server := &http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            10 * time.Second,
		ReadTimeout:                  30 * time.Second,
		WriteTimeout:                 time.Minute,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               64 << 10,
		DisableGeneralOptionsHandler: true,                               // "OPTIONS *" is refused like everything else that is no route
		ErrorLog:                     log.New(debugLines{logger}, "", 0), // handshakes that strangers break off
	}
	if certificate != nil {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
	}
	group.Go(func() error {
		var err error
		if certificate != nil {
			err = server.ServeTLS(listener, "", "")
		} else {
			err = server.Serve(listener)
		}
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	})
	group.Go(func() error {
		<-ctx.Done()
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		return server.Shutdown(draining)
	})
	logger.Info().Str("address", listener.Addr().String()).Msg("listening for " + name)
	return nil
}

// debugLines logs what is written to it, a line at a time.
type debugLines struct{ log zerolog.Logger }

// Write logs one line.
func (d debugLines) Write(line []byte) (int, error) {
	d.log.Debug().Msg(string(bytes.TrimSpace(line)))
	return len(line), nil
}

// eventually tries until try succeeds, for as long as patience lasts.
func eventually(ctx context.Context, log zerolog.Logger, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for waiting := false; ; waiting = true {
		attempt, stop := context.WithTimeout(ctx, 5*time.Second)
		err := try(attempt)
		stop()
		if err == nil {
			return nil
		}
		if !waiting {
			log.Warn().Err(err).Msg("waiting for " + what)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s cannot be used: %w", what, err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
