// Package browser tests the dashboard in a real browser with the real programs. The scripts are in api/dashboard/e2e.
package browser

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/demo"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/app/freeport"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

var screenshots = flag.String("screenshots", "", "write screenshots of all pages to `DIR`")

const (
	dashboard = "../../../api/dashboard"
	// scriptLimit bounds the run of one script that does not end. Node ends a group of tests a minute earlier, and a step
	// after a minute. Beside other tests on two slow processors, the longest script takes more than seven minutes.
	scriptLimit = 15 * time.Minute
	// installations is the number of scripts that run at the same time, each with programs and data of its own. Most
	// scripts wait for the browser longer than they use a processor.
	installations = 2
)

// World is the input of the scripts.
type World struct {
	API     string `json:"api"`
	Hasty   string `json:"hasty"`   // another API, whose access tokens expire after three seconds
	Mailing string `json:"mailing"` // another API, as in production: it sends emails, and administrators need OTP
	Inbox   string `json:"inbox"`   // GET ?to=ADDRESS returns the newest link in an email from Mailing
	Control string `json:"control"` // POST /stop and /start stop and start API
	// Receiver is the base URL of webhook receivers that respond with the status in their path. /hostile responds with
	// HTML and scripts, and /forward/PORT forwards to a program of a script.
	Receiver      string       `json:"receiver"`
	Busy          Busy         `json:"busy"`
	Users         []demo.User  `json:"users"`
	PlatformAdmin demo.Account `json:"platformAdmin"`
	Stores        []demo.Store `json:"stores"`
	Chromium      string       `json:"chromium"`
	Screenshots   string       `json:"screenshots,omitempty"`
}

// TestDashboard runs the scripts. They need Node, Chromium and `npm ci` in api/dashboard.
func TestDashboard(t *testing.T) {
	harness.Long(t)
	needed := find(t)
	idle := make(chan *world, installations)
	for range installations {
		idle <- nil // not started
	}
	scripts, err := filepath.Glob(filepath.Join(dashboard, "e2e", "*.test.mjs"))
	must(t, err)
	for _, script := range scripts {
		name := filepath.Base(script)
		t.Run(strings.TrimSuffix(name, ".test.mjs"), func(script *testing.T) {
			script.Parallel()
			w := <-idle
			defer func() { idle <- w }()
			if w == nil {
				w = needed.start(script, t)
			}
			run := w.node(script, "--test", "--test-reporter=spec", "--test-timeout=840000", filepath.Join("e2e", name))
			out, err := run.CombinedOutput()
			script.Logf("%s", out)
			if err != nil {
				script.Error(err)
			}
		})
	}
}

// BenchmarkBoard measures the board of orders in Chromium, in milliseconds. It needs the programs of TestDashboard.
func BenchmarkBoard(b *testing.B) {
	run := find(b).start(b, b).node(b, filepath.Join("e2e", "board.bench.mjs"))
	run.Stderr = os.Stderr
	out, err := run.Output()
	must(b, err)
	var medians map[string]float64
	must(b, json.Unmarshal(out, &medians))
	b.ReportMetric(0, "ns/op") // omits the time of the whole run
	for name, ms := range medians {
		b.ReportMetric(ms, name)
	}
}

// node returns the command that runs Node in api/dashboard, with the world as the input of the script.
func (w *world) node(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	input := filepath.Join(t.TempDir(), "world.json")
	text, err := json.Marshal(w.World)
	must(t, err)
	must(t, os.WriteFile(input, text, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), scriptLimit)
	t.Cleanup(cancel)
	run := exec.CommandContext(ctx, w.tools.node, args...)
	run.WaitDelay = 10 * time.Second // a browser of a killed script keeps its output open
	run.Dir = dashboard
	run.Env = append(os.Environ(), "COMANDA_WORLD="+input, "NODE_EXTRA_CA_CERTS="+w.infra.Ready.CAFile)
	return run
}

// program returns the path of the first installed program of these names.
func program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, strings.Join(names, " or ")+" is not installed")
	return ""
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// tools are the programs of an installation.
type tools struct {
	dir, node, chromium string
	programs            harness.Programs
}

// find builds our programs and finds the others. It skips the test if one of these is missing; in CI, the test fails.
func find(t testing.TB) tools {
	t.Helper()
	f := tools{
		node:     program(t, "node"),
		chromium: program(t, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
	}
	if _, err := os.Stat(filepath.Join(dashboard, "node_modules")); err != nil {
		missing(t, "npm ci was not run in api/dashboard")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // a first build of Temporal takes minutes
	defer cancel()
	var err error
	f.dir, err = os.MkdirTemp(localpg.TempDir(), "comanda-browser-*")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(f.dir)) })
	must(t, os.Chmod(f.dir, 0o755)) // PostgreSQL may run as another user
	f.programs, err = harness.Build(ctx, f.dir)
	must(t, err)
	return f
}

// world holds the running programs.
type world struct {
	World
	tools
	life  testing.TB // the test at whose end they stop
	infra *harness.Infra
}

// start starts an installation for t, which runs until the end of life.
func (f tools) start(t, life testing.TB) *world {
	t.Helper()
	w := &world{tools: f, life: life}
	w.Chromium = f.chromium
	if *screenshots != "" {
		dir, err := filepath.Abs(*screenshots)
		must(t, err)
		w.Screenshots = dir
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp(f.dir, "world-*")
	must(t, err)
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	if w.infra, err = w.programs.StartInfra(ctx, filepath.Join(dir, "data")); err != nil {
		if strings.Contains(err.Error(), localpg.ErrNotInstalled.Error()) {
			missing(t, localpg.ErrNotInstalled.Error())
		}
		t.Fatal(err)
	}
	life.Cleanup(func() { stop(life, w.infra.Process) })

	env := w.infra.Ready.Env
	keyring, err := app.NewKeyring(app.NewSecret(env["COMANDA_SECRET_KEYS"]))
	must(t, err)
	seeded, err := demo.Seed(ctx, demo.Options{
		DatabaseURL: env["DATABASE_URL"], SystemURL: env["COMANDA_SYSTEM_DATABASE_URL"],
		Keyring: keyring, Now: time.Now,
	})
	must(t, err)
	w.Users, w.PlatformAdmin, w.Stores = seeded.Users, seeded.PlatformAdmin, seeded.Stores

	w.Receiver = w.receivers(t)
	w.Busy = busy(ctx, t, env, keyring, w.Stores[len(w.Stores)-1].StoreID, w.Receiver+"/204")

	certificate, err := tls.LoadX509KeyPair(env["COMANDA_TLS_CERT"], env["COMANDA_TLS_KEY"])
	must(t, err)
	mails, stopMails, err := smtptest.Start(ctx, smtptest.Config{Certificate: &certificate})
	must(t, err)
	life.Cleanup(stopMails)
	w.Mailing = w.serve(t, ctx, map[string]string{
		"COMANDA_SMTP_URL": mails.URL(), "COMANDA_PLATFORM_OTP": "required",
	}).url
	web := httptest.NewServer(inbox(mails))
	life.Cleanup(web.Close)
	w.Inbox = web.URL

	worker, err := w.programs.StartComanda(ctx, w.infra, "worker", map[string]string{
		"COMANDA_RETRY_SCHEDULE": "1s", "COMANDA_SMTP_URL": mails.URL(), "COMANDA_BASE_URL": w.Mailing,
	})
	must(t, err)
	life.Cleanup(worker.Kill)
	hasty := w.serve(t, ctx, map[string]string{"COMANDA_ACCESS_TOKEN_TTL": "3s"})
	w.Hasty = hasty.url
	api := w.serve(t, ctx, nil)
	w.API = api.url
	control := httptest.NewServer(api)
	life.Cleanup(control.Close)
	w.Control = control.URL
	return w
}

// server is a part of the product that can be stopped and started again.
type server struct {
	url     string
	start   func() (*harness.Process, error)
	lock    sync.Mutex
	process *harness.Process // nil while it is stopped
}

func (w *world) serve(t testing.TB, ctx context.Context, settings map[string]string) *server {
	t.Helper()
	address, err := freeport.Address()
	must(t, err)
	all := map[string]string{
		"COMANDA_LISTEN": address, "COMANDA_BASE_URL": "https://" + address,
		"COMANDA_AUTH_RATE_LIMIT": "1000", // all scripts log in from one address
		"COMANDA_API_RATE":        "1000",
		"COMANDA_WEBSITE_RATE":    "10000",
		"COMANDA_WEBSITE_BURST":   "10000",
		"COMANDA_API_BURST":       "1000",
	}
	for name, value := range settings {
		all[name] = value
	}
	s := &server{url: "https://" + address, start: func() (*harness.Process, error) {
		return w.programs.StartComanda(context.WithoutCancel(ctx), w.infra, "serve", all)
	}}
	s.process, err = s.start()
	must(t, err)
	w.life.Cleanup(func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		if s.process != nil {
			s.process.Kill()
		}
	})
	return s
}

// ServeHTTP kills the server (POST /stop), or starts it again at the same address (POST /start).
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	var err error
	switch {
	case r.URL.Path == "/stop" && s.process != nil:
		s.process.Kill()
		s.process = nil
	case r.URL.Path == "/start" && s.process == nil:
		s.process, err = s.start()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// receivers starts the webhook receivers and returns their base URL. The response of /hostile contains HTML and
// scripts, which the dashboard must show as text. /forward/PORT terminates TLS for a program of a script.
func (w *world) receivers(t testing.TB) string {
	t.Helper()
	env := w.infra.Ready.Env
	certificate, err := tls.LoadX509KeyPair(env["COMANDA_TLS_CERT"], env["COMANDA_TLS_KEY"])
	must(t, err)
	responses := http.NewServeMux()
	responses.HandleFunc("/hostile", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Hostile", "<img src=x onerror=hacked()>")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, "<script>hacked()</script><img src=x onerror=hacked()>")
	})
	responses.HandleFunc("/forward/{port}", func(w http.ResponseWriter, r *http.Request) {
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + r.PathValue("port")})
		proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // a program may have ended
		proxy.ServeHTTP(w, r)
	})
	responses.HandleFunc("/{status}", func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.PathValue("status"))
		if err != nil {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
	})
	server := httptest.NewUnstartedServer(responses)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	w.life.Cleanup(server.Close)
	return server.URL
}

func stop(t testing.TB, p *harness.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
