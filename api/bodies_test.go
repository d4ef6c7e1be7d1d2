package api

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

func (b *bodies) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Clients of a network that send their bodies slowly, without a credential, use a limited memory. Further large bodies
// of the network are refused, its small ones and the large ones of other networks are read.
func TestSlowBodiesOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.bodies = newBodies(4*maxBody, 2*maxBody)
	large := object{"name": "Dish", "priceMinor": 1, "currency": "EUR", "description": strings.Repeat("x", 5000)}
	hostile := []string{"2001:db8:7::1", "2001:db8:7:ffff::1"} // of one /48
	var senders []*io.PipeWriter
	ended := make(chan int)
	for i := range 2 {
		body, sender := io.Pipe()
		senders = append(senders, sender)
		r := httptest.NewRequest("POST", issuer+"/auth/login", body)
		r.ContentLength = -1
		from(hostile[i])(r)
		r.Header.Set("Content-Type", "application/json")
		go func() {
			a := httptest.NewRecorder()
			w.server.ServeHTTP(a, r)
			ended <- a.Code
		}()
		_, err := io.WriteString(sender, strings.Repeat(" ", 2*smallBody))
		w.must(err)
	}
	if n := w.server.bodies.inUse(); n != 2*maxBody {
		t.Errorf("memory of slow bodies: got %d, want %d", n, 2*maxBody)
	}
	for _, address := range hostile {
		a := w.do("POST", "/products", w.tokens["FOREIGN"], large, from(address)).refused(app.CodeUnavailable)
		if after := a.Header().Get("Retry-After"); after != "1" {
			t.Errorf("refused body: got Retry-After %q, want 1", after)
		}
		w.do("POST", "/products", w.tokens["FOREIGN"], productBody(), from(address)).ok(201, nil)
	}
	for i, address := range []string{"2001:db8:8::1", "203.0.113.7"} {
		large["sku"] = fmt.Sprint("L", i)
		w.do("POST", "/products", w.tokens["FOREIGN"], large, from(address)).ok(201, nil)
	}
	for _, sender := range senders {
		w.must(sender.Close())
		if status := <-ended; status != 400 {
			t.Errorf("slow body: got status %d, want 400", status)
		}
	}
	if b := w.server.bodies; b.inUse() != 0 || len(b.of) != 0 {
		t.Errorf("memory after the requests: got %d of %d owners, want none", b.inUse(), len(b.of))
	}
}

// A client that opens many HTTP/2 streams and sends none of their small bodies has few requests in progress. The others
// are refused, and a request of another client succeeds.
func TestStreamsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const streams, most = 25, 8
	w.server.reading = newBodies(2*most, most)
	listener := w.listen(w.server)
	hostile := listener.Client().Transport.(*http.Transport).Clone()
	hostile.DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext
	w.Cleanup(hostile.CloseIdleConnections)
	var senders []*io.PipeWriter
	statuses := make(chan string, streams)
	for range streams {
		body, sender := io.Pipe()
		senders = append(senders, sender)
		r, err := http.NewRequestWithContext(t.Context(), "POST", listener.URL+"/auth/login", body)
		w.must(err)
		r.Header.Set("Content-Type", "application/json")
		go func() {
			response, err := hostile.RoundTrip(r)
			if err != nil {
				statuses <- err.Error()
				return
			}
			response.Body.Close()
			statuses <- fmt.Sprint(response.Proto, " ", response.StatusCode)
		}()
	}
	for range streams - most {
		if got := <-statuses; got != "HTTP/2.0 503" {
			t.Errorf("further stream: got %s, want HTTP/2.0 503", got)
		}
	}
	response, err := listener.Client().Post(listener.URL+"/auth/login", "application/json",
		strings.NewReader(`{"email":"nobody@example.com","password":"not the password"}`))
	w.must(err)
	response.Body.Close()
	if response.StatusCode != 401 {
		t.Errorf("login of another client: got %s, want 401", response.Status)
	}
	for _, sender := range senders {
		w.must(sender.Close())
	}
	for range most {
		if got := <-statuses; got != "HTTP/2.0 400" {
			t.Errorf("slow stream: got %s, want HTTP/2.0 400", got)
		}
	}
	if b := w.server.reading; b.inUse() != 0 || len(b.of) != 0 {
		t.Errorf("requests after the streams: got %d of %d owners, want none", b.inUse(), len(b.of))
	}
}

// heldReader is a client that receives nothing of a body before it is released.
type heldReader struct {
	*httptest.ResponseRecorder
	began   chan<- struct{}
	release <-chan struct{}
}

func (r heldReader) Write(body []byte) (int, error) {
	r.began <- struct{}{}
	<-r.release
	return r.ResponseRecorder.Write(body)
}

// Responses that clients of a website receive slowly use a limited memory. Its further large reads are refused, its
// changes and small reads and the large reads of another website are not.
func TestSlowReadersOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	description := object{"description": strings.Repeat("x", 5000)}
	for store, token := range map[string]string{"own": w.tokens["OWNER"], "foreign": w.tokens["FOREIGN"]} {
		w.do("PATCH", "/products/"+string(w.stores[store].product.ID), token, description).ok(200, nil)
	}
	size := int64(w.do("GET", "/products", w.tokens["OWNER"], nil).ok(200, nil).Body.Len())
	w.server.responses = newBodies(4*size, size+smallBody)
	began, release, ended := make(chan struct{}), make(chan struct{}), make(chan int)
	r := httptest.NewRequest("GET", issuer+"/products", nil)
	r.Header.Set("Authorization", "Bearer "+w.tokens["OWNER"])
	go func() {
		a := heldReader{httptest.NewRecorder(), began, release}
		w.server.ServeHTTP(a, r)
		ended <- a.Code
	}()
	<-began
	a := w.do("GET", "/products", w.tokens["OWNER"], nil).refused(app.CodeUnavailable)
	if after := a.Header().Get("Retry-After"); after != "1" {
		t.Errorf("refused read: got Retry-After %q, want 1", after)
	}
	w.do("GET", "/products?externalId=none", w.tokens["OWNER"], nil).ok(200, nil)
	w.do("PATCH", "/products/"+string(w.stores["own"].product.ID), w.tokens["OWNER"], object{"position": 7}).ok(200, nil)
	w.do("GET", "/products", w.tokens["FOREIGN"], nil).ok(200, nil)
	close(release)
	if status := <-ended; status != 200 {
		t.Errorf("slow reader: got status %d, want 200", status)
	}
	w.do("GET", "/products", w.tokens["OWNER"], nil).ok(200, nil)
	if b := w.server.responses; b.inUse() != 0 || len(b.of) != 0 {
		t.Errorf("memory after the requests: got %d of %d owners, want none", b.inUse(), len(b.of))
	}
}

// Bodies of a website that waits or works use a limited memory, also if they come from many networks, and so do its
// imports. Those of another website are read.
func TestBodiesOfAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.bodies, w.server.rows = newBodies(4*maxBody, 3*smallBody), newBodies(4*maxRowsBody, 3*smallBody)
	large := object{"name": "Dish", "priceMinor": 1, "currency": "EUR", "description": strings.Repeat("x", 5000)}
	rows := `[{"sku":"R","name":"Dish","priceMinor":1,"currency":"EUR"` + strings.Repeat(" ", 2*smallBody) + "}]"
	website := string(w.stores["own"].website)
	other, err := w.server.bodies.take(website, 2*smallBody)
	w.must(err)
	imported, err := w.server.rows.take(website, 2*smallBody)
	w.must(err)
	w.do("POST", "/products", w.tokens["OWNER"], large).refused(app.CodeUnavailable)
	w.do("POST", "/products/import", w.tokens["OWNER"], rows).refused(app.CodeUnavailable)
	w.do("POST", "/products", w.tokens["FOREIGN"], large).ok(201, nil)
	w.do("POST", "/products/import", w.tokens["FOREIGN"], rows).ok(200, nil)
	other.shrink(0)
	imported.shrink(0)
	w.do("POST", "/products", w.tokens["OWNER"], large).ok(201, nil)
	w.do("POST", "/products/import", w.tokens["OWNER"], rows).ok(200, nil)
	if n := w.server.bodies.inUse() + w.server.rows.inUse(); n != 0 {
		t.Errorf("memory after the requests: got %d, want 0", n)
	}
}

// Owners that take as much as they may leave memory to others.
func TestBodiesOfManyOwners(t *testing.T) {
	t.Parallel()
	b := newBodies(maxBodies, maxOwnBodies)
	for i := range 10 {
		for range maxOwnBodies / maxBody {
			_, _ = b.take(fmt.Sprint("hostile ", i), maxBody)
		}
	}
	if m, err := b.take("other", 4*smallBody); err != nil || b.inUse() > maxBodies {
		t.Errorf("body beside %d bytes of others: got error %v, want memory", b.inUse(), err)
	} else if m.shrink(0); b.of["other"] != 0 {
		t.Errorf("memory after the request: got %d, want 0", b.of["other"])
	}
}

// A request whose body stops ends when the time of requests is over, before and after authorization.
func TestBodiesEndWithTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	listener := w.exportsOn(w.db.DB, func(s *Server) { s.timeout = time.Second })
	for version, client := range map[int]*http.Client{1: http1(listener), 2: listener.Client()} {
		for path, start := range map[string]string{"/auth/login": "{", "/products/import": `[{"sku":`} {
			body, sender := io.Pipe()
			go io.WriteString(sender, start)
			r, err := http.NewRequestWithContext(t.Context(), "POST", listener.URL+path, body)
			w.must(err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+w.tokens["OWNER"])
			response, err := client.Do(r)
			w.must(err)
			if response.StatusCode != 503 || response.ProtoMajor != version {
				t.Errorf("%s: got %s with %s, want 503 with version %d", path, response.Status, response.Proto, version)
			}
			sender.Close()
			response.Body.Close()
		}
	}
}
