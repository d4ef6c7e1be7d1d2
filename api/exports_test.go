package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// addLongHistory adds status changes of a customer's new order, of about 1 KiB each, and returns the path of the export
// of the customer.
func (w *world) addLongHistory(store string, changes int) (export string) {
	w.Helper()
	customer := w.addCustomer(store, "ada@example.com").Customer.ID
	w.exec(`INSERT INTO order_history
			(order_id, store_id, version, to_status, reason, actor_realm, actor_id, event_id, at)
		SELECT order_id, store_id, n, 'CANCELLED', repeat('x', 900), actor_realm, actor_id, event_id, at
		FROM order_history, generate_series(2, $2) n WHERE order_id = $1`, w.orderOf(store, customer).ID, changes)
	return "/customers/" + string(customer) + "/export"
}

// exportsOn serves over TLS, with HTTP/2 if the client chooses it.
func (w *world) exportsOn(db *persistence.DB, change func(*Server)) *httptest.Server {
	w.Helper()
	server := w.serverOn(db, func(*Config) {})
	change(server)
	listener := httptest.NewUnstartedServer(server)
	listener.EnableHTTP2 = true
	listener.StartTLS()
	w.Cleanup(listener.Close)
	return listener
}

// The parts of an export make the body of one response, also if they are compressed.
func TestExportOfManyRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const changes = 2500
	path := w.addLongHistory("own", changes)
	server := w.exportsOn(w.db.DB, func(*Server) {})
	for _, encoding := range []string{"identity", "gzip"} {
		response := w.requestOf(server, path, w.tokens["OWNER"], header("Accept-Encoding", encoding))
		defer response.Body.Close()
		var body io.Reader = response.Body
		if encoding == "gzip" {
			unzipped, err := gzip.NewReader(body)
			w.must(err)
			body = unzipped
		}
		var shown success[app.CustomerExport]
		w.must(json.UnmarshalRead(body, &shown, json.RejectUnknownMembers(true)))
		if n := len(shown.Data.StatusChanges); !shown.Success || n != changes {
			t.Errorf("%s: got %d status changes, want %d", encoding, n, changes)
		}
	}
}

// http1 returns a client that does not use HTTP/2.
func http1(server *httptest.Server) *http.Client {
	config := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = nil
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
}

// begun requests an export as the owner, without compression, and returns the response of which nothing is read.
func (w *world) begun(server *httptest.Server, client *http.Client, path string) *http.Response {
	w.Helper()
	response, err := w.begin(server, client, path)
	w.must(err)
	return response
}

// begin is begun for a request that can fail.
func (w *world) begin(server *httptest.Server, client *http.Client, path string) (*http.Response, error) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), "GET", server.URL+path, nil)
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+w.tokens["OWNER"])
	r.Header.Set("Accept-Encoding", "identity")
	response, err := client.Do(r)
	if err == nil {
		w.Cleanup(func() { response.Body.Close() })
	}
	return response, err
}

// largeExport is more than the buffers of a connection.
const largeExport = 20_000

// Clients that do not read their exports occupy the places of their website for exports. Its other requests and other
// websites are served. The places are free when the clients disconnect.
func TestSlowExportsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, db := w.serverOnPools()
	server.work.wait = time.Millisecond
	listener := httptest.NewTLSServer(server)
	defer listener.Close()
	path := w.addLongHistory("own", largeExport)
	website := w.stores["own"].website
	var open []*http.Response
	for range maxHeavyWork {
		open = append(open, w.begun(listener, http1(listener), path))
	}
	if n := pool(db, pg.RoleApp).InUse; n != maxHeavyWork {
		t.Errorf("connections of exports: got %d, want %d", n, maxHeavyWork)
	}
	w.doOn(server, "GET", path, w.tokens["OWNER"], nil).refused(app.CodeUnavailable)
	w.doOn(server, "GET", "/products", w.tokens["OWNER"], nil).ok(200, nil)
	foreign := "/customers/" + string(*w.stores["foreign"].order.Customer.ID) + "/export"
	w.doOn(server, "GET", foreign, w.tokens["FOREIGN"], nil).ok(200, nil)
	for _, response := range open {
		response.Body.Close()
	}
	w.until("end of the exports", func() bool {
		return server.work.users("heavy", website) == 0 && pool(db, pg.RoleApp).InUse == 0
	})
}

// Exports of many websites that nobody reads leave half of the connections to other requests.
func TestExportsLeaveConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, db := w.serverOnPools()
	server.work.wait = time.Millisecond
	if most := int64(pool(db, pg.RoleApp).Conns / 2); server.work.exports != most {
		t.Errorf("exports of all websites: got %d, want %d", server.work.exports, most)
	}
	server.work.exports = 1
	listener := httptest.NewTLSServer(server)
	defer listener.Close()
	open := w.begun(listener, http1(listener), w.addLongHistory("own", largeExport))
	foreign := "/customers/" + string(*w.stores["foreign"].order.Customer.ID) + "/export"
	w.doOn(server, "GET", foreign, w.tokens["FOREIGN"], nil).refused(app.CodeUnavailable)
	w.doOn(server, "GET", "/products", w.tokens["FOREIGN"], nil).ok(200, nil)
	open.Body.Close()
	w.until("end of the export", func() bool {
		return server.work.users("exports", "") == 0 && pool(db, pg.RoleApp).InUse == 0
	})
	w.doOn(server, "GET", foreign, w.tokens["FOREIGN"], nil).ok(200, nil)
}

// Exports of customers leave a place for heavy work to the users of the website.
func TestExportsOfCustomersLeaveAPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &call{route: &route{Load: anExport}}
	c.principal = app.Principal{Realm: app.RealmCustomer, WebsiteID: "web_1", StoreID: "sto_1"}
	w.server.work.wait = time.Millisecond
	w.must(w.server.enterWork(t.Context(), c))
	defer c.places.leave()
	other := &call{route: c.route}
	other.principal = c.principal
	if err := w.server.enterWork(t.Context(), other); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("export of another customer: got error %v, want UNAVAILABLE", err)
	}
	other.places.leave()
	other.principal.Realm = app.RealmTenant
	w.must(w.server.enterWork(t.Context(), other))
	other.places.leave()
}

// Exports of the customers of many websites leave half of the places for exports to users.
func TestExportsOfCustomersLeavePlacesToUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.work.wait, w.server.work.exports = time.Millisecond, 4
	enter := func(realm app.Realm, website app.WebsiteID) error {
		c := &call{route: &route{Load: anExport}}
		c.principal = app.Principal{Realm: realm, WebsiteID: website, StoreID: "sto_1"}
		t.Cleanup(func() { c.places.leave() })
		return w.server.enterWork(t.Context(), c)
	}
	w.must(enter(app.RealmCustomer, "web_1"))
	w.must(enter(app.RealmCustomer, "web_2"))
	if err := enter(app.RealmCustomer, "web_3"); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("export of a third customer: got error %v, want UNAVAILABLE", err)
	}
	w.must(enter(app.RealmTenant, "web_3"))
	w.must(enter(app.RealmTenant, "web_4"))
}

// A client that has not read its export in time sees an error, not the end of the response.
func TestSlowReadersAreCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.addLongHistory("own", largeExport)
	var server *Server
	listener := w.exportsOn(w.db.DB, func(s *Server) { server = s })
	for version, client := range map[int]*http.Client{1: http1(listener), 2: listener.Client()} {
		// On a slow machine, the time may end before the response begins, or before it arrives.
		var response *http.Response
		err := errors.New("not requested")
		for limit := time.Second; (err != nil || response.StatusCode != 200) && limit < testTimeout; limit *= 2 {
			server.exportTimeout = limit
			response, err = w.begin(listener, client, path)
		}
		w.must(err)
		if response.StatusCode != 200 || response.ProtoMajor != version {
			t.Fatalf("got %s with %s, want 200 with version %d", response.Status, response.Proto, version)
		}
		w.until("end of the export", func() bool { return server.work.users("heavy", w.stores["own"].website) == 0 })
		if n, err := io.Copy(io.Discard, response.Body); err == nil {
			t.Errorf("HTTP/%d: got the end of the body after %d bytes, want an error", version, n)
		}
	}
}

// An error in the middle of an export is an error of the connection, also if nothing was sent yet. An error at its
// beginning is an error response.
func TestBrokenExports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wire := newWire(t, w.db)
	listener := w.exportsOn(wire.db, func(*Server) {})
	small := "/customers/" + string(*w.stores["own"].order.Customer.ID) + "/export"
	for name, path := range map[string]string{"large": w.addLongHistory("own", 1000), "small": small} {
		for _, encoding := range []string{"identity", "gzip"} {
			wire.lose("FROM customers")
			if response := w.requestOf(listener, path, w.tokens["OWNER"]); response.StatusCode != 503 {
				t.Errorf("%s export whose beginning fails: got %s, want 503", name, response.Status)
			}
			wire.lose("FROM customer_sessions")
			ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, "GET", listener.URL+path, nil)
			w.must(err)
			r.Header.Set("Authorization", "Bearer "+w.tokens["OWNER"])
			r.Header.Set("Accept-Encoding", encoding)
			response, err := listener.Client().Do(r)
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
			}
			if err == nil || ctx.Err() != nil {
				t.Errorf("%s export whose end fails: got error %v, want one of the connection", name, err)
			}
			wire.lose("")
		}
	}
}

// The lists of a body come in the order of its members; a part that comes too late is an error.
func TestListWriter(t *testing.T) {
	t.Parallel()
	type data struct {
		A    []int  `json:"a"`
		Name string `json:"name"`
		B    []int  `json:"b"`
		None *int   `json:"none,omitempty"`
		C    []int  `json:"c"`
	}
	var out strings.Builder
	w := newListWriter[data](&out)
	for _, part := range []data{{Name: "x"}, {B: []int{1}}, {B: []int{2, 3}}} {
		if err := w.write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.write(data{A: []int{1}}); err == nil {
		t.Error("list of an earlier member: got no error, want one")
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	const want = `{"success":true,"data":{"a":[],"name":"x","b":[1,2,3],"c":[]}}`
	if strings.TrimSpace(out.String()) != want {
		t.Errorf("body: got %s, want %s", &out, want)
	}
}

// Clients of HTTP/1.0, for which the end of the connection is the end of the body, see an error in the middle of an
// export. Without TLS, which some proxies do not use to the service, only a reset is one.
func TestBrokenExportsToHTTP10(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wire := newWire(t, w.db)
	local := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	listener := httptest.NewServer(w.serverOn(wire.db, func(c *Config) { c.TrustedProxies = local }))
	defer listener.Close()
	path := w.addLongHistory("own", 1000)
	for lost, want := range map[string]bool{"": true, "FROM customer_sessions": false} {
		wire.lose(lost)
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Listener.Addr().String())
		w.must(err)
		defer connection.Close()
		_, err = io.WriteString(connection, "GET "+path+" HTTP/1.0\r\nHost: x\r\nX-Forwarded-Proto: https\r\n"+
			"Authorization: Bearer "+w.tokens["OWNER"]+"\r\n\r\n")
		w.must(err)
		got, err := io.ReadAll(connection)
		if (err == nil) != want || want && !bytes.Contains(got, []byte(" 200 OK\r\n")) {
			t.Errorf("statement %q fails: got error %v after %.20q, want none: %t", lost, err, got, want)
		}
	}
}
