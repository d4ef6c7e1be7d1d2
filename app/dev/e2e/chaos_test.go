package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

var long = flag.Bool("long", false, "test at full size: minutes instead of seconds")

// While many orders are placed, everything is killed in turn, at random points, as kill -9 does
// it: a worker, the API, Temporal and PostgreSQL. One of ten receivers refuses everything.
// Afterwards each event has reached its receiver, and none is unaccounted for.
func TestChaos(t *testing.T) {
	events, rounds := 200, 1
	if *long {
		events, rounds = 1000, 3
	}
	const receivers = 10
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFragileWorld(t)
	f.settings["COMANDA_RETRY_SCHEDULE"] = "1s,1s"
	f.settings["COMANDA_BURST"] = "always" // first attempts share workflows whenever several are claimed together
	f.revive()

	var restaurants []*restaurant
	var hooks []*hook
	for i := range receivers {
		r, h := newRestaurant(t), newHook(t, nil)
		if i == 0 {
			h.answer = func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
		}
		r.subscribe(h)
		restaurants, hooks = append(restaurants, r), append(hooks, h)
	}
	var placing sync.WaitGroup
	defer placing.Wait()
	for client := range receivers {
		placing.Go(func() {
			for i := range events / receivers {
				restaurants[client].orderSurely(fmt.Sprintf("order %d", i))
			}
		})
	}

	victims := slices.Repeat([]string{"worker", "API", "Temporal", "PostgreSQL"}, rounds)
	random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	arrived := func() (n int) {
		for _, h := range hooks {
			n += h.events(0)
		}
		return n
	}
	for i, victim := range victims {
		// Somewhere in its own part of the burst.
		at := (i*events + random.IntN(events)) * 9 / 10 / len(victims)
		eventually(t, fmt.Sprintf("%d events have arrived", at), func() error {
			if n := arrived(); n < at {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		f.kill(victim)
		t.Logf("killed the %s after %d of %d events", victim, arrived(), events)
		f.revive()
	}
	placing.Wait()
	eventually(t, fmt.Sprintf("every delivery has ended (seed %d)", seed), func() error { return allEnded(t.Context(), events) })

	requests := 0
	for i, r := range restaurants {
		requests += len(hooks[i].all(t))
		if n := hooks[i].events(0); n != events/receivers {
			t.Errorf("%d events have reached receiver %d", n, i)
		}
		want := "delivered"
		if i == 0 {
			want = "dead_letter"
		}
		var n int
		must(t, the.db.System().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM deliveries WHERE store_id = $1 AND status = $2", r.store, want).Scan(&n))
		if n != events/receivers {
			t.Errorf("%d deliveries to receiver %d are %s", n, i, want)
		}
	}
	var attempts, bursts int
	must(t, the.db.System().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM attempts").Scan(&attempts))
	must(t, the.db.System().DB.QueryRowContext(t.Context(), "SELECT count(burst_id) FROM deliveries").Scan(&bursts))
	if bursts == 0 {
		t.Error("there was no burst")
	}
	t.Logf("%d requests for %d events, %d of them recorded as attempts: %d duplicates; %d deliveries of bursts",
		requests, events, attempts, requests-attempts, bursts)
}

// allEnded returns an error as long as an event is not delivered or a dead letter.
func allEnded(ctx context.Context, events int) error {
	var undispatched, ended, open int
	err := the.db.System().DB.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM outbox WHERE dispatched_at IS NULL),
			count(DISTINCT event_id) FILTER (WHERE status IN ('delivered', 'dead_letter')), count(*) FILTER (WHERE status NOT IN ('delivered', 'dead_letter'))
		FROM deliveries`).Scan(&undispatched, &ended, &open)
	if err == nil && (undispatched > 0 || open > 0 || ended != events) {
		err = fmt.Errorf("%d of %d events have ended; %d wait for a relay, %d deliveries are open", ended, events, undispatched, open)
	}
	return err
}

// orderSurely places an order as a careful client does: again, with the same key, until it
// has an answer.
func (r *restaurant) orderSurely(key string) {
	eventually(r.t, "placing an order", func() error {
		body, err := json.Marshal(r.newOrder())
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(r.t.Context(), "POST", r.api+"/orders", bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+r.token)
		request.Header.Set("Idempotency-Key", strings.ReplaceAll(key, " ", "-"))
		response, err := the.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != 201 {
			return errors.New(response.Status)
		}
		return nil
	})
}

// events returns how many different events have come, the first requests left out.
func (h *hook) events(but int) int {
	h.lock.Lock()
	defer h.lock.Unlock()
	ids := map[string]bool{}
	for _, one := range h.received[but:] {
		ids[one.id] = true
	}
	return len(ids)
}

// fragileWorld is a world of which each part can be killed, and comes back where it was.
type fragileWorld struct {
	t        *testing.T
	settings map[string]string // of the API and the worker

	dir         string
	port        int // from which on Temporal and its like listen
	listen      string
	postgres    *localpg.Server
	api, worker *harness.Process
}

// newFragileWorld takes the place of the world that tests share, for one test. Nothing of
// it runs before revive.
func newFragileWorld(t *testing.T) *fragileWorld {
	t.Helper()
	dir, err := os.MkdirTemp("", "comanda-chaos-*")
	must(t, err)
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	shared := the
	f := &fragileWorld{t: t, settings: map[string]string{}, dir: dir, port: freePorts(t, 12)}
	f.listen, err = harness.FreeAddress()
	must(t, err)
	the = world{programs: shared.programs, api: "https://" + f.listen}
	t.Cleanup(func() {
		for _, process := range []*harness.Process{f.worker, f.api} {
			if process != nil {
				process.Kill()
			}
		}
		if the.temporal != nil {
			the.temporal.Close()
			the.db.Close()
		}
		if the.infra != nil {
			the.infra.Kill()
		}
		if f.postgres != nil {
			must(t, f.postgres.Stop(context.Background()))
		}
		the = shared
		must(t, os.RemoveAll(dir))
	})
	return f
}

// revive starts whatever does not run.
func (f *fragileWorld) revive() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	var err error
	if f.postgres == nil {
		f.postgres, err = localpg.Start(ctx, localpg.Options{
			Dir: filepath.Join(f.dir, "postgres"), Port: f.port + 11, Durable: true, Settings: map[string]string{"max_connections": "300"},
		})
		must(f.t, err)
	}
	if the.infra == nil || the.infra.Ended() {
		the.infra, err = the.programs.StartInfraOn(ctx, f.port, filepath.Join(f.dir, "data"), map[string]string{"DATABASE_URL": f.postgres.URL("postgres")})
		must(f.t, err)
	}
	if the.db == nil {
		must(f.t, the.connect())
	}
	if f.api == nil || f.api.Ended() {
		settings := map[string]string{"COMANDA_LISTEN": f.listen, "COMANDA_BASE_URL": the.api}
		for k, v := range f.settings {
			settings[k] = v
		}
		f.api, _, err = the.serve(ctx, settings)
		must(f.t, err)
	}
	if f.worker == nil || f.worker.Ended() {
		f.worker, err = the.programs.StartComanda(ctx, the.infra, "worker", f.settings)
		must(f.t, err)
	}
}

// kill ends a part as kill -9 does.
func (f *fragileWorld) kill(part string) {
	f.t.Helper()
	switch part {
	case "worker":
		f.worker.Kill()
	case "API":
		f.api.Kill()
	case "Temporal":
		the.infra.Kill()
	case "PostgreSQL":
		must(f.t, syscall.Kill(f.postmaster(), syscall.SIGKILL))
		<-f.postgres.Done()
		must(f.t, f.postgres.Stop(f.t.Context())) // lets go of its directory
		f.postgres = nil
	}
}

// postmaster returns the id of PostgreSQL's first process.
func (f *fragileWorld) postmaster() int {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.postgres.URL("postgres"))
	must(f.t, err)
	defer conn.Close(f.t.Context())
	var file string
	must(f.t, conn.QueryRow(f.t.Context(), "SELECT pg_read_file('postmaster.pid')").Scan(&file))
	first, _, _ := strings.Cut(file, "\n")
	pid, err := strconv.Atoi(first)
	must(f.t, err)
	return pid
}

// freePorts returns the first of so many consecutive ports on which nobody listens.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		held := []net.Listener{first}
		port := first.Addr().(*net.TCPAddr).Port
		for i := 1; i < n; i++ {
			next, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)))
			if err != nil {
				break
			}
			held = append(held, next)
		}
		for _, listener := range held {
			listener.Close()
		}
		if len(held) == n {
			return port
		}
	}
	t.Fatal("no free ports side by side")
	return 0
}
