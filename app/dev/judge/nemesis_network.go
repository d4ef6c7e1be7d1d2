package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// separate separates one part from PostgreSQL, from Temporal or from both.
func separate(program string, postgres, temporal bool) disturb {
	return func(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (string, error) {
		p := w.pick(r, program)
		var proxies []*harness.Proxy
		if postgres {
			proxies = append(proxies, p.postgres)
		}
		if temporal {
			proxies = append(proxies, p.temporal)
		}
		manner, err := partition(ctx, r, lasts, proxies)
		return p.name + ", " + manner, err
	}
}

func separateTemporal(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (string, error) {
	return partition(ctx, r, lasts, []*harness.Proxy{w.storage})
}

func separatePostgres(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (string, error) {
	return partition(ctx, r, lasts, append(w.proxiesOfPostgres(), w.storage))
}

// proxiesOfPostgres returns the proxies of all parts to PostgreSQL.
func (w *world) proxiesOfPostgres() (list []*harness.Proxy) {
	for _, p := range w.parts {
		list = append(list, p.postgres)
	}
	return list
}

// partition makes proxies either close their connections and refuse others, or lose all packets.
func partition(ctx context.Context, r *rand.Rand, lasts time.Duration, proxies []*harness.Proxy) (string, error) {
	if r.IntN(2) == 0 {
		for _, p := range proxies {
			p.Cut()
			defer p.Mend()
		}
		return "connections refused", wait(ctx, lasts)
	}
	for _, p := range proxies {
		p.Hold()
		defer p.Release()
	}
	return "packets lost", wait(ctx, lasts)
}

// silentTime is the time after which PostgreSQL ends the session of a host that is gone, as its settings for TCP say.
// Proxies on this host acknowledge all packets, so that a fault ends the sessions.
const silentTime = 30 * time.Second

// loseHost ends an API and a worker whose connections stay open for PostgreSQL and Temporal, with their locks.
func loseHost(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (string, error) {
	host := []*part{w.pick(r, "serve"), w.pick(r, "worker")}
	for _, p := range host {
		for _, proxy := range []*harness.Proxy{p.postgres, p.temporal} {
			proxy.Hold()
			defer func() {
				proxy.Cut() // before the release: the bytes that it has kept are lost
				proxy.Release()
				proxy.Mend()
			}()
		}
		if err := p.kill(w); err != nil {
			return "", err
		}
	}
	return host[0].name + " and " + host[1].name, wait(ctx, min(lasts, silentTime))
}

// slowPostgres delays each packet between Comanda and PostgreSQL. The connections of Temporal stay fast.
func slowPostgres(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	for _, p := range w.proxiesOfPostgres() {
		p.SetDelay(slowDelay)
		defer p.SetDelay(0)
	}
	return "", wait(ctx, lasts)
}

// slowDelay is the delay in each direction.
const slowDelay = 50 * time.Millisecond

// logins are the roles with which Comanda and Temporal connect to PostgreSQL.
var logins = [...]string{"comanda_login", "comanda_system_login", "temporal"}

const endAll = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ANY ($1)"

// exhaustConnections ends the sessions of the logins and refuses others, with the error of a server without room.
func exhaustConnections(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (detail string, err error) {
	conn, err := pgx.Connect(ctx, w.SuperuserURL())
	if err != nil {
		return "", err
	}
	limit := func(ctx context.Context, n int) error {
		for _, login := range logins {
			if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", login, n)); err != nil {
				return err
			}
		}
		return nil
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, limit(ctx, -1), conn.Close(ctx))
	}()
	if err := limit(ctx, 0); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, endAll, logins); err != nil {
		return "", err
	}
	return "", wait(ctx, lasts)
}

// endSessions ends the sessions of Comanda several times, in the middle of their transactions.
func endSessions(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (detail string, err error) {
	conn, err := pgx.Connect(ctx, w.SuperuserURL())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	times := 3 + r.IntN(5)
	for range times {
		if _, err := conn.Exec(ctx, endAll, logins[:2]); err != nil {
			return "", err
		}
		if err := wait(ctx, lasts/time.Duration(times)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d times", times), nil
}
