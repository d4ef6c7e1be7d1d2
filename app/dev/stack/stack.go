package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app/boot"
	"github.com/comanda-dev/comanda/app/dev/localca"
	"github.com/comanda-dev/comanda/app/dev/temporaldev"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

const (
	// namespace is the Temporal namespace of the product.
	namespace = "default"
	// retention is the time for which Temporal keeps closed workflows.
	retention = 24 * time.Hour
	// readyFile exists only while all parts run.
	readyFile = "ready.json"
)

// Stack is a running installation.
type Stack struct {
	Ready  Ready
	data   dataDir
	ports  *ports
	parts  []part     // in start order
	failed chan error // the error of the first part that ended unexpectedly
	done   chan struct{}
}

// part is a running part of a stack.
type part struct {
	name string
	stop func(context.Context) error
}

// Start starts all parts in order and returns when they run. If a part cannot start, or ctx ends first, Start stops the
// parts that run and returns the error.
func Start(ctx context.Context, o Options) (*Stack, error) {
	data, err := filepath.Abs(o.Data)
	if err != nil {
		return nil, err
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Notice == nil {
		o.Notice = io.Discard
	}
	s := &Stack{data: dataDir(data), failed: make(chan error, 1), done: make(chan struct{})}
	if err := s.start(ctx, o); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		return nil, errors.Join(err, s.Stop(ctx))
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, o Options) error {
	o, err := o.withFiles()
	if err != nil {
		return err
	}
	if err := boot.CheckVariables(o.settings(nil, nil)); err != nil { // before PostgreSQL and Temporal start
		return err
	}
	if err := s.open(ctx, o); err != nil {
		return err
	}
	defer s.ports.release()
	databases, err := s.startPostgres(ctx, o)
	if err != nil {
		return err
	}
	if err := s.startTemporal(ctx, o, databases); err != nil {
		return err
	}
	if err := s.startProduct(ctx, o, databases); err != nil {
		return err
	}
	s.add(readyFile, func(context.Context) error { return s.removeReady() })
	return writeJSON(s.data.file(readyFile), s.Ready)
}

// open locks the data directory and reserves the ports. It waits for a run that was killed recently and still uses
// them.
func (s *Stack) open(ctx context.Context, o Options) error {
	// PostgreSQL may run as another user, which must be able to enter the directory. Secrets are in files of mode 0600.
	if err := os.MkdirAll(string(s.data), 0o755); err != nil {
		return err
	}
	lock, err := localpg.TakeLock(ctx, string(s.data), o.Notice)
	if err != nil {
		return err
	}
	s.add("data directory", func(context.Context) error {
		lock.Release()
		return nil
	})
	if err := s.removeReady(); err != nil {
		return err
	}
	if o.env("DATABASE_URL") == "" {
		if err := localpg.AwaitFormer(ctx, s.postgres(o)); err != nil {
			return err
		}
	}
	s.ports, err = reservePorts(ctx, o.Port, o.uses()...)
	return err
}

// uses returns the uses whose ports must be free. With Infra and fixed ports, the ports of the API and of its admin
// address may already be in use, by the programs that run on the infrastructure.
func (o Options) uses() []use {
	uses := []use{frontendPort, uiPort, historyPort, matchingPort, workerPort}
	if o.env("DATABASE_URL") == "" {
		uses = append(uses, postgresPort)
	}
	if !o.Infra || o.Port == 0 {
		uses = append(uses, apiPort, adminPort)
	}
	if !o.Infra {
		uses = append(uses, receiverPort, socialPort)
	}
	return uses
}

// add registers a running part, which Stop stops.
func (s *Stack) add(name string, stop func(context.Context) error) {
	s.parts = append(s.parts, part{name, stop})
}

// log creates the log file of a part and replaces that of the previous run. Call it before the part starts: parts stop
// in reverse order, so the file is closed after the part has ended.
func (s *Stack) log(name string) (*os.File, error) {
	file, err := os.OpenFile(s.data.file(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	s.add(name, func(context.Context) error { return file.Close() })
	return file, nil
}

// watch reports a part that ends unexpectedly. failed yields its error, or is closed if there is no error.
func (s *Stack) watch(name string, failed <-chan error) {
	go func() {
		select {
		case err := <-failed:
			if err == nil {
				err = fmt.Errorf("%s ended unexpectedly", name)
			}
			select {
			case s.failed <- err:
			default: // only the first failure is reported
			}
		case <-s.done:
		}
	}()
}

// serve serves a handler over HTTPS. Stopping it aborts requests in progress.
func (s *Stack) serve(name string, u use, files localca.Files, handler http.Handler) {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // TLS errors of clients are not ours
	}
	listener, failed := s.ports.listener(u), make(chan error, 1)
	go func() {
		if err := server.ServeTLS(listener, files.Cert, files.Key); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("%s: %w", name, err)
		}
	}()
	s.add(name, func(context.Context) error { return server.Close() })
	s.watch(name, failed)
}

// Failed returns a channel that yields an error if a part ends unexpectedly.
func (s *Stack) Failed() <-chan error { return s.failed }

// Stop stops all parts in reverse start order. If ctx ends, it stops the remaining parts immediately; committed data is
// not lost.
func (s *Stack) Stop(ctx context.Context) error {
	close(s.done)
	var errs []error
	for _, part := range slices.Backward(s.parts) {
		if err := part.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", part.name, err))
		}
	}
	return errors.Join(errs...)
}

// removeReady removes readyFile if it exists.
func (s *Stack) removeReady() error {
	if err := os.Remove(s.data.file(readyFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// startPostgres starts the private server, unless DATABASE_URL is set, and creates the databases.
func (s *Stack) startPostgres(ctx context.Context, o Options) (databases, error) {
	url := o.env("DATABASE_URL")
	if url == "" {
		log, err := s.log("postgres.log")
		if err != nil {
			return databases{}, err
		}
		settings := s.postgres(o)
		settings.Port, settings.Log = s.ports.take(postgresPort), log
		server, err := localpg.Start(ctx, settings)
		if err != nil {
			return databases{}, err
		}
		s.add("PostgreSQL", server.Stop)
		s.watch("PostgreSQL", ended(server.Done()))
		url = server.URL("postgres")
	}
	return setUpDatabases(ctx, url, s.data.file("roles.json"))
}

// postgres returns the settings of the private PostgreSQL server.
func (s *Stack) postgres(o Options) localpg.Options {
	return localpg.Options{
		Dir:     s.data.file("postgres"),
		Durable: true,
		// Each of Temporal's four services has two pools of up to twenty connections.
		Settings: map[string]string{"max_connections": "300"},
		Notice:   o.Notice,
	}
}

// ended returns a channel of errors that is closed when done is closed.
func ended(done <-chan struct{}) <-chan error {
	failed := make(chan error)
	go func() {
		<-done
		close(failed)
	}()
	return failed
}

// startTemporal starts the Temporal server and its Web UI.
func (s *Stack) startTemporal(ctx context.Context, o Options, d databases) error {
	tuning, err := o.tuning()
	if err != nil {
		return err
	}
	log, err := s.log("temporal.log")
	if err != nil {
		return err
	}
	server, err := temporaldev.Start(ctx, temporaldev.Options{
		StoreURL:      d.temporalStore,
		VisibilityURL: d.temporalVisibility,
		Ports: temporaldev.Ports{
			Frontend: s.ports.take(frontendPort),
			History:  s.ports.take(historyPort),
			Matching: s.ports.take(matchingPort),
			Worker:   s.ports.take(workerPort),
		},
		Namespace: namespace,
		Retention: retention,
		Tuning:    tuning,
		Log:       log,
	})
	if err != nil {
		return err
	}
	s.add("Temporal", server.Stop)
	s.watch("Temporal", server.Failed())
	ui, err := temporaldev.StartUI(ctx, s.ports.take(uiPort), s.ports.numbers[frontendPort], namespace)
	if err != nil {
		return err
	}
	s.add("Temporal's Web UI", func(context.Context) error { ui.Stop(); return nil })
	return nil
}
