package api

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Authentication runs one SQL statement. A request with an invalid query is refused directly after authentication, so
// it runs no other statement.
func TestAuthenticationCostsOneStatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wire := newWire(t, w.db)
	server := w.serverOn(wire.db, func(*Config) {})
	sent := func(path, credential string) (*response, []string) {
		w.doOn(server, "GET", path, credential, nil) // connects and prepares
		wire.take()
		a := w.doOn(server, "GET", path, credential, nil)
		return a, wire.take()
	}
	customer := w.addCustomer("own", "ada@example.com").AccessToken
	for who, c := range map[string]struct{ credential, table string }{
		"a user":                   {w.tokens["STAFF"], "FROM sessions"},
		"a platform administrator": {w.tokens["PLATFORM"], "FROM sessions"},
		"a customer":               {customer, "FROM customer_sessions"},
		"an API key":               {w.key("own", app.ScopeReadOrders), "FROM api_keys"},
	} {
		w.run(who, func(t *testing.T) {
			path := "/orders/x?unknown=1"
			if who == "a platform administrator" {
				path = "/auth/me?unknown=1"
			}
			a, statements := sent(path, c.credential)
			if a.refused(app.CodeValidationFailed); len(statements) != 1 || !strings.Contains(statements[0], c.table) {
				t.Errorf("statements: got %q, want one of %s", statements, c.table)
			}
		})
	}
	for name, credential := range map[string]string{"no token of ours": "x", "no key's form": "svc_live_sk_x"} {
		w.run(name, func(t *testing.T) {
			if _, statements := sent("/products", credential); len(statements) != 0 {
				t.Errorf("statements: got %q, want none", statements)
			}
		})
	}

	// Authentication and content of two requests.
	a, statements := sent("/auth/me", w.tokens["OWNER"])
	if a.ok(200, nil); len(statements) != 2 || !strings.Contains(statements[0], "FROM sessions") ||
		!strings.Contains(statements[1], "FROM users") {
		t.Errorf("statements of GET /auth/me: got %q, want one of sessions and one of users", statements)
	}
	a, statements = sent("/products", w.key("own", app.ScopeReadProducts))
	if a.ok(200, nil); len(statements) < 2 || !strings.Contains(statements[0], "FROM api_keys") ||
		slices.ContainsFunc(statements[1:],
			func(s string) bool { return strings.Contains(s, "api_keys") || strings.Contains(s, "sessions") }) {
		t.Errorf("statements of GET /products with a key: got %q, want one of api_keys and then others", statements)
	}
}

// wire is a database behind a proxy that records every statement.
type wire struct {
	db *persistence.DB
	mu sync.Mutex
	// run are the statements since the last take, in their order.
	run []string
	// lost, if not "", is in the statements that end their connection instead of being run.
	lost string
}

func newWire(t *testing.T, db *persistencetest.Database, change ...func(*persistence.Config)) *wire {
	t.Helper()
	at, err := url.Parse(db.URL)
	must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	t.Cleanup(func() { listener.Close() })
	via := func(address string) string {
		u, err := url.Parse(address)
		must(err)
		u.Host, u.RawQuery = listener.Addr().String(), "sslmode=disable"
		return u.String()
	}
	w := &wire{}
	config := persistence.Config{
		URL: via(db.URL), SystemURL: via(db.SystemURL), Sealer: persistencetest.Keyring().Sealer(),
	}
	for _, f := range change {
		f(&config)
	}
	w.db, err = persistence.Open(config)
	must(err)
	t.Cleanup(func() { w.db.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go w.relay(client, at.Host)
		}
	}()
	return w
}

func (w *wire) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	run := w.run
	w.run = nil
	return run
}

// lose ends connections from now on at statements with a text; "" = none.
func (w *wire) lose(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = text
}

func (w *wire) loses(statement string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost != "" && strings.Contains(statement, w.lost)
}

func (w *wire) note(statement string) {
	// The pool's own statements, for a connection that was idle and for a new one, are not those of a request.
	if statement == "-- ping" || strings.HasPrefix(statement, "SET ROLE ") {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run = append(w.run, statement)
}

// relay forwards one connection. A frontend message has a type, a length and a body. The first message has no type; see
// PostgreSQL's manual, Message Formats.
func (w *wire) relay(client net.Conn, upstream string) {
	defer client.Close()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer client.Close()
		io.Copy(client, server)
	}()
	in := bufio.NewReader(client)
	prepared := map[string]string{}
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first {
			head = head[1:]
		}
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		text := bytes.Split(body, []byte{0})
		switch kind := head[0]; {
		case first:
		case kind == 'Q':
			w.note(string(text[0]))
			if w.loses(string(text[0])) {
				return
			}
		case kind == 'P':
			prepared[string(text[0])] = string(text[1])
		case kind == 'B': // is followed by its execution
			w.note(prepared[string(text[1])])
			if w.loses(prepared[string(text[1])]) {
				return
			}
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
	}
}
