// Package temporaldev runs a Temporal server and its Web UI inside this process, on PostgreSQL, listening on the
// loopback address alone. Workflows survive restarts.
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

// Options says where a server keeps its data and listens.
type Options struct {
	// StoreURL and VisibilityURL are postgres:// URLs of the server's two databases, which must exist. Their schemas
	// are set up and upgraded.
	StoreURL, VisibilityURL string
	// Ports on 127.0.0.1 of the server's services; clients talk to the frontend alone.
	Ports Ports
	// Namespace is registered if it is missing.
	Namespace string
	// Retention is how long a newly registered namespace keeps workflows that have ended.
	Retention time.Duration
	Tuning
	// Log receives the server's warnings and errors.
	Log io.Writer
}

// Tuning changes settings of the server, for experiments. 0 is the server's own default.
type Tuning struct {
	// VisibilityPollRPS limits how often per second each shard takes up its queued visibility records; default 20. With
	// a low value, a workflow that closes before the next time is written once instead of twice, and found later.
	VisibilityPollRPS int
	// Partitions is the number of partitions of each task queue; default 4. Fairness holds within a partition.
	Partitions int
}

// Ports are the server's.
type Ports struct{ Frontend, History, Matching, Worker int }

// of names the port of each service.
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

// Start runs the server and returns once its frontend serves and the namespace is there. A server whose start fails or
// is interrupted by ctx is stopped again.
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

// start assembles the server and starts its services. On what the server cannot live with its goroutine halts, so that
// it needs one of its own.
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

// awaitReady returns once the frontend says that it serves, and describes the namespace.
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
			return fmt.Errorf("not ready in time (%w): %w", ctx.Err(), err)
		case <-poll.C:
		}
	}
}

// serves fails unless the frontend serves and the namespace, registered here if it is missing, can be described.
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
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: o.Namespace})
	return err
}

// Failed yields an error if the server meets something that it cannot live with. It is still to be stopped then.
func (s *Server) Failed() <-chan error { return s.failed }

// Stop ends the server, or gives it up when ctx ends first; nothing committed is lost either way.
func (s *Server) Stop(ctx context.Context) error {
	stopped := make(chan error, 1)
	go func() { stopped <- s.server.Stop() }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the Temporal server was not stopped in time: %w", ctx.Err())
	}
}

// address is where a port of this machine's loopback interface is listened on.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
