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
	conns sync.Map // of net.Conn
	begun sync.WaitGroup
}

// unusedKey is the key of the connection in the context of its requests.
type unusedKey struct{}

// watch makes a server report its connections.
func (u *unused) watch(server *http.Server) {
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		u.begun.Add(1)
		u.conns.Store(conn, nil)
		return context.WithValue(ctx, unusedKey{}, conn)
	}
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			u.remove(conn)
		}
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.remove(r.Context().Value(unusedKey{}))
		next.ServeHTTP(w, r)
	})
}

func (u *unused) remove(conn any) {
	if _, waiting := u.conns.LoadAndDelete(conn); waiting {
		u.begun.Done()
	}
}

// wait waits until each connection has begun its first request or is closed, at most for firstRequest. No further
// connections may be accepted.
func (u *unused) wait() {
	begun := make(chan struct{})
	go func() {
		u.begun.Wait()
		close(begun)
	}()
	select {
	case <-begun:
	case <-time.After(firstRequest):
	}
}
