package boot

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// firstRequest is the time in which a client sends the first request of a connection. A server that stops does not wait
// for it any longer.
const firstRequest = 5 * time.Second

// unused holds the connections of a server whose first request has not begun. A client does not repeat a request whose
// new connection is closed, and http.Server.Shutdown drops the first request of a connection that it has accepted.
type unused struct {
	lock sync.Mutex
	of   map[net.Conn]struct{}
}

// unusedKey is the key of the connection in the context of its requests.
type unusedKey struct{}

// watch makes a server report its connections.
func (u *unused) watch(server *http.Server) {
	u.of = map[net.Conn]struct{}{}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		u.lock.Lock()
		defer u.lock.Unlock()
		u.of[conn] = struct{}{}
		return context.WithValue(ctx, unusedKey{}, conn)
	}
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			u.remove(conn)
		}
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(unusedKey{}).(net.Conn); ok {
			u.remove(conn)
		}
		next.ServeHTTP(w, r)
	})
}

func (u *unused) remove(conn net.Conn) {
	u.lock.Lock()
	defer u.lock.Unlock()
	delete(u.of, conn)
}

func (u *unused) count() int {
	u.lock.Lock()
	defer u.lock.Unlock()
	return len(u.of)
}

// wait waits until each connection has begun its first request, at most for firstRequest. No further connections may be
// accepted.
func (u *unused) wait() {
	for end := time.Now().Add(firstRequest); u.count() > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}
