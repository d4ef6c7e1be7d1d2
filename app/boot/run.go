// Package boot reads the configuration and wires the packages of Comanda into processes. It is the only package that
// imports all others.
package boot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/workflows"
)

const (
	// startTimeout is the time for which a starting process waits for PostgreSQL and for Temporal.
	startTimeout = time.Minute
	// tryTimeout is the time of one try. The checks of a PostgreSQL that responds to each statement after 200 ms take
	// about 5 s.
	tryTimeout = 20 * time.Second
)

// Run runs the parts of a process until ctx is done. Then it drains the API, see [drain], and finishes open requests
// and running attempts. It calls ready, unless nil, when all parts work. It returns an error if a part cannot start
// or fails.
func Run(ctx context.Context, config Config, log zerolog.Logger, ready func()) error {
	stopTracing, err := startTracing(ctx, config.tracing, config.parts.service(), log)
	if err != nil {
		return err
	}
	defer stopTracing()
	config.warnOfConnections(log)
	metrics := newMetrics()
	databases, err := openDatabases(config, metrics)
	if err != nil {
		return err
	}
	defer databases.Close()
	if config.temporal.MetricsHandler, err = temporalMetrics(metrics); err != nil {
		return err
	}

	signal := ctx
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var handler *api.Server
	defer func() { // stops the parts that have started if another part cannot start
		stop()
		_ = group.Wait()
		if handler != nil {
			handler.Close()
		}
	}()
	health := &health{checks: []func(context.Context) error{databases.Ping}}
	group.Go(func() error {
		defer stopServing()
		<-ctx.Done()
		health.stopping.Store(true)
		if config.parts&API != 0 && signal.Err() != nil && health.started.Load() {
			time.Sleep(config.DrainDelay)
		}
		return nil
	})
	// The admin listener starts first, so that health checks work while the process waits for PostgreSQL and Temporal.
	admin := api.Admin(health.ready, metrics, bool(config.Pprof))
	err = listen(serving, group, "COMANDA_ADMIN_LISTEN", config.AdminListen, nil, nil, nil, admin, log)
	if err != nil {
		return err
	}
	if err := admit(ctx, databases.one(), log); err != nil {
		return err
	}
	if config.parts&Worker != 0 {
		if err := startWorker(ctx, group, config.ofWorker(), databases[Worker], metrics, health, log); err != nil {
			return err
		}
	}
	if config.parts&API != 0 {
		temporal, err := temporalClient(config, log)
		if err != nil {
			return err
		}
		defer temporal.Close()
		handler = newAPI(serving, group, config, databases[API], temporal, metrics, log)
		draining := drain(ctx, handler)
		err = listen(serving, group, "COMANDA_LISTEN", config.Listen, config.certificate, config.ProxyProtocol,
			config.TrustedProxies, draining, log)
		if err != nil {
			return err
		}
		if config.certificate != nil {
			group.Go(func() error { return config.certificate.watch(ctx, reloadEvery, log) })
		}
	}
	health.started.Store(true)
	if ready != nil {
		ready()
	}
	return ignoreCancelled(group.Wait())
}

// newAPI returns the handler of the API. Streams end when ctx is done.
func newAPI(
	ctx context.Context, group *errgroup.Group, config Config, db *persistence.DB, temporal client.Client,
	metrics prometheus.Registerer, log zerolog.Logger,
) *api.Server {
	workflows := workflows.NewClient(temporal, workflows.Policy{}, workflows.JobPolicy{})
	return api.New(api.Config{
		DB: db, Keyring: config.keyring, Issuer: config.BaseURL,
		AccessTTL: config.AccessTokenTTL, RefreshTTL: config.RefreshTokenTTL,
		RefreshLeeway: config.RefreshReuseLeeway, SessionMaxAge: config.SessionMaxAge,
		OptionalOTP:    config.PlatformOTP == optional,
		TrustedProxies: config.TrustedProxies, RateLimit: config.AuthRateLimit, RateWindow: config.AuthRateWindow,
		APIRate: config.APIRate, APIBurst: config.APIBurst,
		WebsiteRate: config.WebsiteRate, WebsiteBurst: config.WebsiteBurst,
		CORSOrigins: config.CORSOrigins, Providers: config.providers(), ProviderCAs: config.egressCAs,
		Memory: memoryLimit(),
		Tester: workflows, Retrier: workflows, Log: log, Metrics: metrics, Now: time.Now,
		WatchdogDays: config.WatchdogDays, WorkflowURL: config.workflowURL(), Stopping: ctx.Done(),
		DeadLetterRetention: config.DeadLetterRetention,
		HideDocs:            !bool(config.Docs),
		WorkflowRetention:   followRetention(ctx, group, config, workflows),
	})
}

// admit waits for the database and checks the login roles, its schema and the sessions of connections. It fails
// immediately if the database rejects a connection, for example because of a wrong password.
func admit(ctx context.Context, db *persistence.DB, log zerolog.Logger) error {
	var refusal error
	err := eventually(ctx, log, "PostgreSQL", func(ctx context.Context) error {
		refusal = nil
		err := db.CheckRole(ctx)
		if err != nil && app.CodeOf(err) != app.CodeUnavailable {
			refusal = err
			return nil
		}
		return err
	})
	if err = errors.Join(err, refusal); err != nil {
		return err
	}
	return errors.Join(db.CheckSchema(ctx), db.CheckSessions(ctx))
}

// eventually calls try until it succeeds, for at most startTimeout. dependency is PostgreSQL or Temporal, for the error
// and the log.
func eventually(
	ctx context.Context, log zerolog.Logger, dependency string, try func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for waiting := false; ; waiting = true {
		attempt, stop := context.WithTimeout(ctx, tryTimeout)
		err := try(attempt)
		stop()
		if err == nil {
			return nil
		}
		if !waiting {
			log.Warn().Err(err).Str("dependency", dependency).Msg("waiting for a dependency")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot use %s: %w", dependency, err)
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
