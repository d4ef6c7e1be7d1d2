//go:build unix

// Package localpg runs a private PostgreSQL server with the machine's own binaries, for development
// and tests. The server listens only on the loopback address, requires a password, and ends with the
// process that started it.
//
// The binaries come from PATH and the installation directories of Linux distributions and Homebrew. If
// there are none, they are downloaded once. PostgreSQL does not run as root: a root process runs it as
// the user postgres or, without such a user, as nobody.
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
)

// superuser is the role that owns every cluster of this package.
const superuser = "postgres"

// Options are the options of a server.
type Options struct {
	// Dir contains the data, the superuser's password and a lock file. It is created if it is missing.
	// If PostgreSQL runs as another user who cannot reach Dir, Dir becomes a symbolic link to a
	// directory that this user can reach. If Dir is empty, the server has a temporary directory that
	// Stop deletes.
	Dir string
	// Port is the port on 127.0.0.1; 0 is a free port.
	Port int
	// Durable makes commits survive a crash of the machine. Without it, writing is several times
	// faster.
	Durable bool
	// Settings are settings of postgresql.conf. They override the settings of this package.
	Settings map[string]string
	// Environment contains further variables of the server's environment, as NAME=value.
	Environment []string
	// Log receives the output of the server and of initdb; nil discards it.
	Log io.Writer
	// Notice receives one line if Start waits longer than a second for a previous server; nil discards
	// it.
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

// errPortTaken marks failures that another port would avoid.
var errPortTaken = errors.New("another process listens on it")

// errInUse marks failures because another server runs on the same cluster.
var errInUse = errors.New("in use")

// errLeftBehind marks failures because of processes of a killed server. Each of them ends when it
// detects that the server has ended.
var errLeftBehind = errors.New("in use by processes of a server that was killed")

// portTime is the time for which Start chooses another free port after another process has taken the
// chosen port.
const portTime = 5 * time.Second

// Start starts the server on o.Dir and returns when it accepts connections. It creates the database
// cluster if there is none. If the previous server on o.Dir is ending, or was killed and has left
// processes behind, Start waits up to 15 s for them. Its errors are one line for users: PostgreSQL is
// not installed (ErrNotInstalled), the directory is in use, broken or of another version, or the port
// is taken. If ctx ends first, Start leaves no process running.
func Start(ctx context.Context, o Options) (*Server, error) {
	o.setDefaults()
	runAs, err := serverAccount()
	if err != nil {
		return nil, err
	}
	h, err := openHome(ctx, o, runAs)
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
	return s, await(ctx, o.Notice, func() (time.Duration, error) { return s.tryLaunch(ctx, bin, o) })
}

// tryLaunch launches the server unless the previous server still runs. If it fails, it returns the
// time for which to repeat it.
func (s *Server) tryLaunch(ctx context.Context, bin binaries, o Options) (time.Duration, error) {
	if most, err := s.home.checkFormer(); err != nil {
		return most, err
	}
	if err := s.home.disown(); err != nil {
		return 0, err
	}
	err := s.launch(ctx, bin, o)
	switch {
	case errors.Is(err, errLeftBehind):
		return endingTime, err
	case errors.Is(err, errPortTaken) && o.Port == 0: // taken between the choice of the port and its use
		return portTime, err
	default:
		return 0, err
	}
}

// launch starts postgres and waits until it accepts connections. If it fails, it leaves no process
// behind.
func (s *Server) launch(ctx context.Context, bin binaries, o Options) error {
	var err error
	if s.port, err = listenable(ctx, o.Port); err != nil {
		return err
	}
	cmd := s.home.command(context.WithoutCancel(ctx), bin.postgres(), serverArgs(s.home, s.port, o)...) // Stop ends it
	cmd.Env = append(cmd.Env, o.Environment...)
	s.process, err = spawn(cmd, o.Log)
	if err != nil {
		return fmt.Errorf("run PostgreSQL: %w", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		_ = s.process.stop(ctx) // an immediate shutdown adds nothing to err
		return err
	}
	return nil
}

// listenable returns a port on which a server can listen: the given port or, for 0, a free port.
func listenable(ctx context.Context, port int) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address(port))
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil {
		return 0, fmt.Errorf("port %d for PostgreSQL is taken: %w", port, errPortTaken)
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// awaitReady returns when a connection with the generated password succeeds, which proves that the
// server is this one.
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

// address returns the loopback address of a port.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

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

// PID returns the process id of the postmaster.
func (s *Server) PID() int { return s.process.cmd.Process.Pid }

// Done is closed when the server has ended, also without Stop.
func (s *Server) Done() <-chan struct{} { return s.process.done }

// Stop ends the server: it rolls back open transactions, closes connections and flushes committed data
// to disk. If ctx ends first, the server ends immediately, recovers at its next start, and Stop
// returns the error of ctx. Stop returns nil if the server has already ended.
func (s *Server) Stop(ctx context.Context) error {
	return errors.Join(s.process.stop(ctx), s.home.close())
}
