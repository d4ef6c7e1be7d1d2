//go:build unix

// Package localpg runs a private PostgreSQL server from the machine's own binaries, for development and tests. The
// server listens on the loopback address alone, asks for a password, and ends with the process that started it.
//
// Binaries are taken from PATH and the places where Linux distributions and Homebrew put them; where there are none
// they are downloaded once. PostgreSQL refuses to run as root: a root process runs it as the user postgres, else nobody.
package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/localpg/former"
)

// superuser is the name of the role that owns every cluster made here.
const superuser = "postgres"

// Options says where a server keeps its data and how it runs.
type Options struct {
	// Dir keeps the data, the superuser's password and a lock file; it is made when missing. Where PostgreSQL runs as
	// another user who cannot reach it, Dir becomes a symbolic link to a directory that this user can reach. If empty,
	// the server has a temporary directory that Stop deletes.
	Dir string
	// Port on 127.0.0.1; 0 takes a free one.
	Port int
	// Durable makes a commit survive a crash of the machine. Without it writing is several times faster.
	Durable bool
	// Settings of the server, by their names in postgresql.conf, on top of this package's own.
	Settings map[string]string
	// Log receives what the server and initdb print; nil discards it.
	Log io.Writer
	// Notice receives one line when Start has waited for a second for a former server to end; nil discards it.
	Notice io.Writer
}

// setDefaults replaces nil writers.
func (o *Options) setDefaults() {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Notice == nil {
		o.Notice = io.Discard
	}
}

// Server is a running PostgreSQL.
type Server struct {
	port     int
	password string
	process  *process
	home     *home
}

// errPortTaken marks the failures that another port would mend.
var errPortTaken = errors.New("another process listens there")

// errInUse marks the failures caused by a server that runs on the same cluster.
var errInUse = errors.New("in use")

// errLeftBehind marks the failures caused by processes that a killed server has left behind: each ends when it notices
// that the server is gone.
var errLeftBehind = errors.New("in use by processes of a server that was killed")

// portTime is how long Start goes on to choose another free port when a process takes each chosen one first.
const portTime = 5 * time.Second

// Start runs the server on o.Dir, making the database cluster if there is none yet, and returns once it accepts
// connections. The next Start finds the cluster again. If a former server on o.Dir is ending, or was killed and has
// left processes behind, Start waits up to 15 s for them. Errors are one line and fit for a person to read: no
// binaries (ErrNotInstalled), a directory in use, broken or of another version, a port taken. When ctx ends first,
// Start leaves nothing running.
func Start(ctx context.Context, o Options) (*Server, error) {
	o.setDefaults()
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	h, err := openHome(ctx, o, who)
	if err != nil {
		return nil, err
	}
	server, err := startIn(ctx, h, o)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return server, nil
}

// startIn prepares the cluster in h and launches the server on it.
func startIn(ctx context.Context, h *home, o Options) (*Server, error) {
	version, err := h.clusterVersion()
	if err != nil {
		return nil, err
	}
	bin, err := findBinaries(ctx, version, h, o.Log)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		if err := h.initCluster(ctx, bin, o); err != nil {
			return nil, err
		}
	}
	password, err := h.password()
	if err != nil {
		return nil, err
	}
	s := &Server{password: password, home: h}
	return s, former.Await(ctx, o.Notice, func() (time.Duration, error) { return s.tryLaunch(ctx, bin, o) })
}

// tryLaunch launches the server unless a former one still runs. If it fails, it returns how long to repeat it.
func (s *Server) tryLaunch(ctx context.Context, bin binaries, o Options) (time.Duration, error) {
	if patience, err := s.home.checkFormer(); err != nil {
		return patience, err
	}
	if err := s.home.disown(); err != nil {
		return 0, err
	}
	err := s.launch(ctx, bin, o)
	switch {
	case errors.Is(err, errLeftBehind):
		return former.EndingTime, err
	case errors.Is(err, errPortTaken) && o.Port == 0: // between choosing a free port and listening on it
		return portTime, err
	default:
		return 0, err
	}
}

// launch runs postgres and waits until it accepts connections. Whatever fails, it leaves no process behind.
func (s *Server) launch(ctx context.Context, bin binaries, o Options) error {
	var err error
	if s.port, err = listenable(ctx, o.Port); err != nil {
		return err
	}
	cmd := s.home.command(context.WithoutCancel(ctx), bin.postgres(), serverArgs(s.home, s.port, o)...) // Stop ends it
	s.process, err = spawn(cmd, o.Log)
	if err != nil {
		return fmt.Errorf("run PostgreSQL: %w", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		_ = s.process.stop(ctx) // that it had to hurry says nothing new
		return err
	}
	return nil
}

// listenable returns a port on which a server can listen: the one asked for or, for 0, a free one.
func listenable(ctx context.Context, port int) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address(port))
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil {
		return 0, fmt.Errorf("port %d, meant for PostgreSQL, is taken: %w", port, errPortTaken)
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// awaitReady returns once a connection with our password succeeds, so that it is our server that answers.
func (s *Server) awaitReady(ctx context.Context) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-s.process.done:
			return s.startFailure()
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL was not ready in time: %w", ctx.Err())
		case <-poll.C:
		}
		conn, err := pgx.Connect(ctx, s.URL(superuser))
		if err == nil {
			return conn.Close(ctx)
		}
	}
}

// address is where a port of this machine's loopback interface is listened on.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Port returns the port on 127.0.0.1 on which the server listens.
func (s *Server) Port() int { return s.port }

// URL returns the connection string of the superuser for a database.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     address(s.port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Done is closed when the server has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.process.done }

// Stop ends the server: open transactions are rolled back, connections closed, everything committed is on disk. When
// ctx ends before that is done, the server ends at once, repairs its files at the next start, and Stop returns ctx's
// error. A server that has ended already is no error.
func (s *Server) Stop(ctx context.Context) error {
	return errors.Join(s.process.stop(ctx), s.home.close())
}
