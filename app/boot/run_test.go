package boot

import (
	"context"
	"database/sql"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app/freeport"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// unusedAddress returns a local address on which a process of the test can listen.
func unusedAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// withLogins returns the minimal environment with the logins of a database and further changes, see [with].
func withLogins(db *persistencetest.Database, changes ...string) map[string]string {
	environ := with(changes...)
	maps.Copy(environ, loginsOf(db))
	return environ
}

// nobody is an address on which no process listens: the kernel gives its port to no program that asks for any port.
const nobody = "127.0.0.1:1"

// A worker that waits for Temporal is alive but not ready.
func TestHealthWhileWaitingForTemporal(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	address := unusedAddress(t)
	environ := withLogins(db, "COMANDA_ADMIN_LISTEN", address, "TEMPORAL_ADDRESS", nobody)
	config, err := Load(environ, Worker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, config, zerolog.Nop(), func() { t.Error("Run called ready without Temporal") })
	}()
	status := func(path string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	for status("/healthz") == 0 {
		select {
		case err := <-ended:
			t.Fatalf("Run returned %v, want it to wait for Temporal", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	alive, ready := status("/healthz"), status("/readyz")
	if alive != http.StatusOK || ready != http.StatusServiceUnavailable {
		t.Errorf("/healthz: %d, /readyz: %d, want 200 and 503", alive, ready)
	}
	stop()
	<-ended
}

// A dependency that is slow, but responds, is used. One that never responds ends the start after a minute.
func TestEventually(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		takes, ends time.Duration
		failed      bool
	}{
		"slow":   {15 * time.Second, 15 * time.Second, false},
		"silent": {time.Hour, startTimeout, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := eventually(t.Context(), zerolog.Nop(), "PostgreSQL", func(ctx context.Context) error {
					select {
					case <-ctx.Done():
					case <-time.After(test.takes):
					}
					return ctx.Err()
				})
				if took := time.Since(began); (err != nil) != test.failed || took != test.ends {
					t.Errorf("got error %v after %s, want an error %v after %s", err, took, test.failed, test.ends)
				}
			})
		})
	}
}

// Run fails immediately if the database rejects a login role, or if a login role has too many or too few roles. The
// error names the variable, and the role or the statement that corrects it.
func TestRunRejectsLogins(t *testing.T) {
	t.Parallel()
	db := persistencetest.NewLogged(t, io.Discard) // roles belong to the server, which other tests share
	owner, err := sql.Open("pgx", db.OwnerURL)
	persistencetest.Must(t, err)
	defer owner.Close()
	_, err = owner.ExecContext(t.Context(), `CREATE ROLE twofold LOGIN PASSWORD 'p' IN ROLE comanda_app, comanda_system;
		CREATE ROLE "None" LOGIN PASSWORD 'p'`)
	persistencetest.Must(t, err)
	as := func(role string) string {
		u, err := url.Parse(db.URL)
		persistencetest.Must(t, err)
		u.User = url.UserPassword(role, "p")
		return u.String()
	}
	elsewhere, err := url.Parse(db.SystemURL)
	persistencetest.Must(t, err)
	elsewhere.Path = "/postgres"
	for name, c := range map[string]struct{ url, systemURL, variable, want string }{
		"unknown":        {as("unknown"), "", "DATABASE_URL: ", "unknown"},
		"unknown system": {db.URL, as("unknown"), "COMANDA_SYSTEM_DATABASE_URL: ", "unknown"},
		"no role":        {as("None"), db.SystemURL, "DATABASE_URL: ", `GRANT comanda_app TO "None"`},
		"no system role": {
			db.URL, as("None"), "COMANDA_SYSTEM_DATABASE_URL: ", `GRANT comanda_system TO "None"`,
		},
		"one login with one role": {
			db.URL, "", "DATABASE_URL: ", "set COMANDA_SYSTEM_DATABASE_URL to a login that is one, or use this login " +
				"for both roles: GRANT comanda_system TO",
		},
		"two logins, one with both roles": {
			as("twofold"), db.SystemURL, "DATABASE_URL: ", "run: REVOKE comanda_system FROM twofold",
		},
		"another database": {
			db.URL, elsewhere.String(), "COMANDA_SYSTEM_DATABASE_URL: ", "must name the same database as DATABASE_URL",
		},
		"the same login twice": {as("twofold"), as("twofold"), "COMANDA_SYSTEM_DATABASE_URL: ", "another login role"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := Load(with("DATABASE_URL", c.url, "COMANDA_SYSTEM_DATABASE_URL", c.systemURL,
				"COMANDA_ADMIN_LISTEN", unusedAddress(t)), Worker)
			persistencetest.Must(t, err)
			ctx, stop := context.WithTimeout(t.Context(), startTimeout)
			defer stop()
			err = Run(ctx, config, zerolog.Nop(), nil)
			if err == nil || ctx.Err() != nil || !strings.HasPrefix(err.Error(), c.variable) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("Run returned %v, want an error that begins with %q, with %q, without waiting",
					err, c.variable, c.want)
			}
		})
	}
}

// One login that is a member of both roles is enough.
func TestRunWithOneLogin(t *testing.T) {
	t.Parallel()
	db := persistencetest.NewLogged(t, io.Discard) // roles belong to the server, which other tests share
	owner, err := sql.Open("pgx", db.OwnerURL)
	persistencetest.Must(t, err)
	defer owner.Close()
	_, err = owner.ExecContext(t.Context(), "GRANT comanda_system TO comanda_test_app")
	persistencetest.Must(t, err)
	one, err := persistence.Open(persistence.Config{URL: db.URL})
	persistencetest.Must(t, err)
	defer one.Close()
	persistencetest.Must(t, admit(t.Context(), one, zerolog.Nop()))
}

// A worker has no keys of tokens.
func TestWorkerHasNoTokenKeys(t *testing.T) {
	t.Parallel()
	for parts, want := range map[Part]int{API: 1, Worker: 0, API | Worker: 1} {
		config, err := Load(with(), parts)
		persistencetest.Must(t, err)
		for _, c := range []struct {
			name   string
			config Config
			want   int
		}{{"process", config, want}, {"worker", config.ofWorker(), 0}} {
			if got := len(c.config.keyring.Derive("tenant access token")); got != c.want {
				t.Errorf("token keys of the %s with parts %d: got %d, want %d", c.name, parts, got, c.want)
			}
			if c.want == 0 && c.config.SecretKeys.Len() > 0 {
				t.Errorf("the %s with parts %d keeps COMANDA_SECRET_KEYS, want only the sealer", c.name, parts)
			}
			if len(c.config.sealer.KeyIDs()) != 1 {
				t.Errorf("the %s with parts %d cannot open secrets", c.name, parts)
			}
		}
	}
}

// A stopping API is not ready, but still serves new connections, each for one response.
func TestStoppingAPIDrains(t *testing.T) {
	t.Parallel()
	admin, address := unusedAddress(t), unusedAddress(t)
	config, err := Load(withLogins(persistencetest.New(t), "COMANDA_ADMIN_LISTEN", admin,
		"COMANDA_LISTEN", address, "COMANDA_TRUSTED_PROXIES", "127.0.0.0/8", "COMANDA_DRAIN_DELAY", "10s"), API)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- Run(ctx, config, zerolog.Nop(), func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	get := func(url string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Forwarded-Proto", "https")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response
	}
	check := func(readiness int, closes bool) {
		t.Helper()
		if got := get("http://" + admin + "/readyz").StatusCode; got != readiness {
			t.Errorf("/readyz: got %d, want %d", got, readiness)
		}
		response := get("http://" + address + "/openapi.yaml")
		if response.StatusCode != http.StatusOK || response.Close != closes {
			t.Errorf("the API: got %s that closes its connection: %t, want 200 and %t",
				response.Status, response.Close, closes)
		}
	}
	check(http.StatusOK, false)
	stop()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if get("http://"+admin+"/readyz").StatusCode != http.StatusOK {
			break
		}
	}
	check(http.StatusServiceUnavailable, true)
	if err := <-ended; err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("the API still accepts connections at its end")
	}
}

// The parts of one process have separate pools: steps of jobs have the limits of a worker, not those of requests.
func TestPartsHaveSeparatePools(t *testing.T) {
	t.Parallel()
	config, err := Load(withLogins(persistencetest.New(t)), API|Worker)
	if err != nil {
		t.Fatal(err)
	}
	all, err := openDatabases(config, newMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	for part, want := range map[Part]string{API: "10s", Worker: "1min"} {
		var got string
		err := all[part].System().QueryRowContext(t.Context(), "SHOW statement_timeout").Scan(&got)
		if err != nil || got != want {
			t.Errorf("statement_timeout of part %d: got %s, error %v, want %s", part, got, err, want)
		}
	}
}
