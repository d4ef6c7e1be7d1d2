package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/gorilla/mux"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// BenchmarkMe measures GET /auth/me against a handler that writes the same bytes behind the
// same TLS and the same routes.
func BenchmarkMe(b *testing.B) {
	server, _, user, _ := benchServer(b, 1)
	benchmarkReads(b, server, "/auth/me", benchToken(b, server, user))
}

// benchToken is an access token of a user.
func benchToken(b *testing.B, server *Server, user app.User) string {
	session := persistencetest.Session(b, server.db, server.now(), user, "", time.Hour)
	token, err := server.tokens.mint(server.now(), claims{
		Subject: string(user.ID), Email: user.Email, StoreID: session.StoreID, Role: session.Role,
		Audience: app.RealmTenant, SessionID: session.ID,
	})
	must(err)
	return token
}

// BenchmarkKey measures GET /products, of a store that has none, with an API key, which
// cannot ask for GET /auth/me, in the same way.
func BenchmarkKey(b *testing.B) {
	server, _, _, stores := benchServer(b, 1)
	issued, err := server.db.IssueAPIKey(b.Context(), server.now(), stores[0],
		app.NewAPIKey{Name: "bench", Scopes: []app.Scope{app.ScopeReadProducts}})
	must(err)
	benchmarkReads(b, server, "/products", issued.Key.Reveal())
}

func benchmarkReads(b *testing.B, server *Server, path, token string) {
	workers := 2 * runtime.GOMAXPROCS(0)
	read := requester(b, server, workers, "GET", path, token, "")
	body := read()
	bare := mux.NewRouter().SkipClean(true).UseEncodedPath()
	for _, rt := range routes() {
		bare.Path(rt.Path).HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, body)
		})
	}
	against(b, workers, 200, "requests", forget(read), forget(requester(b, bare, workers, "GET", path, token, "")))
}

// BenchmarkLogin measures POST /auth/login against bare checks of the same password.
func BenchmarkLogin(b *testing.B) {
	server, _, user, _ := benchServer(b, 1)
	login := requester(b, server, runtime.GOMAXPROCS(0), "POST", "/auth/login", "",
		`{"email":"`+user.Email+`","password":"`+password+`"}`)
	hash, err := HashPassword(app.NewSecret(password))
	must(err)
	against(b, runtime.GOMAXPROCS(0), 10, "logins", forget(login), func() {
		if ok, err := argon2id.ComparePasswordAndHash(password, hash); !ok || err != nil {
			b.Errorf("password: got %t and error %v, want a match", ok, err)
		}
	})
}

// benchServer is a server on a database with some stores, whose owner can log in as often as
// wanted.
func benchServer(b *testing.B, stores int) (*Server, *persistencetest.Database, app.User, []app.StoreID) {
	db := persistencetest.New(b)
	_, ids, err := db.CreateWebsite(b.Context(), noon,
		identity.NewWebsite{Name: "bench", Domain: "bench.test",
			Plan: app.PlanEnterprise}, newStores(make([]string, stores))...)
	must(err)
	roles := map[app.StoreID]app.Role{}
	for _, id := range ids {
		roles[id] = app.RoleOwner
	}
	hash, err := HashPassword(app.NewSecret(password))
	must(err)
	user := app.User{Email: "owner@bench.test", Name: "Owner"}
	user.ID, err = db.CreateUser(b.Context(), noon, identity.NewUser{
		Email: user.Email, Name: user.Name, PasswordHash: hash, Roles: roles,
	})
	must(err)
	return New(Config{
		DB: db.DB, Keyring: persistencetest.Keyring(), Issuer: issuer, AccessTTL: 15 * time.Minute,
		RefreshTTL: time.Hour,
		RateLimit:  1000, RateWindow: time.Millisecond, APIRate: 100_000, APIBurst: 100_000,
		WebsiteRate: 100_000, WebsiteBurst: 100_000,
		Log: zerolog.New(io.Discard),
	}), db, user, ids
}

// requester returns what sends a request to a handler behind TLS, over as many connections
// as there are workers, and returns the body of the response, which must be a success.
func requester(b *testing.B, handler http.Handler, workers int, method, path, token, body string) func() string {
	send := sender(b, handler, workers)
	return func() string { return send(method, path, token, body) }
}

// sender is [requester] for requests that differ, with further headers.
func sender(
	b *testing.B, handler http.Handler, workers int,
) func(method, path, token, body string, headers ...func(*http.Request)) string {
	server := httptest.NewTLSServer(handler)
	b.Cleanup(server.Close)
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = workers
	return func(method, path, token, body string, headers ...func(*http.Request)) string {
		r, err := http.NewRequestWithContext(b.Context(), method, server.URL+path, strings.NewReader(body))
		must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		for _, set := range headers {
			set(r)
		}
		response, err := client.Do(r)
		must(err)
		text, err := io.ReadAll(response.Body)
		must(err)
		response.Body.Close()
		if response.StatusCode/100 != 2 {
			b.Errorf("got %s, want a status of success: %s", response.Status, text)
		}
		return string(text)
	}
}

func forget(request func() string) func() { return func() { request() } }

// against alternates between both, so that other load on the machine slows both equally, and reports
// how many of each are done in a second, how long the slowest of a hundred takes, and the
// ratios, where 1 is as good as bare.
func against(b *testing.B, workers, perRound int, what string, ours, bare func()) {
	var o, n meter
	o.round(workers, perRound, ours)
	n.round(workers, perRound, bare)
	o, n = meter{}, meter{}
	for b.Loop() {
		o.round(workers, perRound, ours)
		n.round(workers, perRound, bare)
	}
	b.ReportMetric(0, "ns/op") // of a round, which says nothing
	b.ReportMetric(o.rate(), what+"/s")
	b.ReportMetric(n.rate(), "bare/s")
	b.ReportMetric(o.rate()/n.rate(), "of-bare")
	b.ReportMetric(1e3*o.p99().Seconds(), "p99-ms")
	b.ReportMetric(1e3*n.p99().Seconds(), "bare-p99-ms")
	b.ReportMetric(o.p99().Seconds()/n.p99().Seconds(), "p99-times-bare")
}

// meter adds up rounds of one kind.
type meter struct {
	took   time.Duration   // of all rounds
	single []time.Duration // of each call
}

// round makes calls by several concurrent workers.
func (m *meter) round(workers, calls int, call func()) {
	single := make([]time.Duration, calls)
	var next atomic.Int64
	var wait sync.WaitGroup
	start := time.Now()
	for range workers {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(calls); i = next.Add(1) - 1 {
				begin := time.Now()
				call()
				single[i] = time.Since(begin)
			}
		})
	}
	wait.Wait()
	m.took += time.Since(start)
	m.single = append(m.single, single...)
}

func (m *meter) rate() float64 { return float64(len(m.single)) / m.took.Seconds() }

func (m *meter) p99() time.Duration { return m.at(99) }

// at is how long the slowest of the quickest calls takes, so many of a hundred.
func (m *meter) at(percent int) time.Duration {
	slices.Sort(m.single)
	return m.single[len(m.single)*percent/100]
}
