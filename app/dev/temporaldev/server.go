// Package temporaldev runs a Temporal server and its Web UI in this process. They store their data in PostgreSQL, so
// that workflows survive restarts, and listen on the loopback interface.
package temporaldev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Options are the settings of a server.
type Options struct {
	// StoreURL and VisibilityURL are postgres:// URLs of the two databases, which must exist. Start creates or upgrades
	// their schemas.
	StoreURL, VisibilityURL string
	// Ports are the ports of the services on 127.0.0.1. Clients use only the frontend.
	Ports Ports
	// Namespace is registered if it does not exist.
	Namespace string
	// Retention is the time for which a newly registered namespace keeps closed workflows.
	Retention time.Duration
	Tuning
	// Log receives the warnings and errors of the server.
	Log io.Writer
}

// visibilityPollRPS limits how often per second each shard processes its visibility records. Temporal's default is 20.
// A workflow that closes before the next poll is written once instead of twice, and is found up to half a second later.
// Measured with 2: a sixth less processor time per delivery, half the latency at the 99th percentile.
const visibilityPollRPS = 2

// Tuning changes settings of the server for experiments. 0 is the default.
type Tuning struct {
	// VisibilityPollRPS replaces visibilityPollRPS.
	VisibilityPollRPS int
	// Partitions is the number of partitions of each task queue; default 4. Fairness holds within a partition.
	Partitions int
}

// Ports are the ports of the services of a server.
type Ports struct{ Frontend, History, Matching, Worker int }

// of returns the port of each service.
func (p Ports) of() map[primitives.ServiceName]int {
	return map[primitives.ServiceName]int{
		primitives.FrontendService: p.Frontend,
		primitives.HistoryService:  p.History,
		primitives.MatchingService: p.Matching,
		primitives.WorkerService:   p.Worker,
	}
}

// Server is a running Temporal server.
type Server struct {
	server temporal.Server
	failed chan error
}

// Start starts a server and returns when its frontend responds and the namespace is registered. If the start fails or
// ctx ends first, Start stops the server.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{failed: make(chan error, 1)}
	logger := newLogger(o.Log, s.failed)
	stores, err := setUpStores(o, logger)
	if err != nil {
		return nil, err
	}
	if err := s.start(serverOptions(o, stores, logger)); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	if err := s.awaitReady(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start Temporal: %w", err), s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// start starts the services. A fatal error of the server halts its goroutine (see fatalHook), so the server starts in a
// separate one.
func (s *Server) start(options []temporal.ServerOption) error {
	started := make(chan error, 1)
	go func() {
		var err error
		if s.server, err = temporal.NewServer(options...); err == nil {
			err = s.server.Start()
		}
		started <- err
	}()
	select {
	case err := <-started:
		return err
	case err := <-s.failed:
		return err
	}
}

// awaitReady waits until the frontend is healthy and the namespace is registered.
func (s *Server) awaitReady(ctx context.Context, o Options) error {
	c, err := client.NewLazyClient(client.Options{
		HostPort: address(o.Ports.Frontend),
		Logger:   sdklog.NewStructuredLogger(discardLogs()),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		err := serves(ctx, c, o)
		if err == nil {
			return nil
		}
		select {
		case failure := <-s.failed:
			return failure
		case <-ctx.Done():
			return fmt.Errorf("not ready (%w): %w", ctx.Err(), err)
		case <-poll.C:
		}
	}
}

// serves returns an error unless the frontend is healthy and can describe the namespace, which it registers if
// necessary.
func serves(ctx context.Context, c client.Client, o Options) error {
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}
	_, err := c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        o.Namespace,
		Description:                      "Comanda",
		WorkflowExecutionRetentionPeriod: durationpb.New(o.Retention),
	})
	if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); err != nil && !exists {
		return err
	}
	describe := &workflowservice.DescribeNamespaceRequest{Namespace: o.Namespace}
	_, err = c.WorkflowService().DescribeNamespace(ctx, describe)
	return err
}

// Failed returns a channel that yields the first fatal error of the server. The server must still be stopped then.
func (s *Server) Failed() <-chan error { return s.failed }

// Stop stops the server. If ctx ends first, it returns an error without waiting. Committed data is never lost.
func (s *Server) Stop(ctx context.Context) error {
	stopped := make(chan error, 1)
	go func() { stopped <- s.server.Stop() }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the Temporal server is still stopping: %w", ctx.Err())
	}
}

// address returns the address of a port on the loopback interface.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
