package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	bareQueue    = "bare"
	bareStarters = 8 // as many as the relay has
)

// bareResult is what the bare worker tells about one run.
type bareResult struct {
	Seconds float64 `json:"seconds"` // from the first activity to the last
}

// runBare is a process that runs n bare workflows for each line that it reads, and answers
// each with a line of JSON.
func runBare(ctx context.Context, address string, n int, in io.Reader, out io.Writer) error {
	// As near as ours: without compression.
	near := client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}}
	temporal, err := client.Dial(client.Options{HostPort: address, ConnectionOptions: near, Logger: temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return err
	}
	defer temporal.Close()
	var done atomic.Int64
	finished := make(chan time.Time, 1)
	w := worker.New(temporal, bareQueue, worker.Options{
		MaxConcurrentWorkflowTaskExecutionSize: 4000, MaxConcurrentLocalActivityExecutionSize: 4000,
		MaxConcurrentWorkflowTaskPollers: 8, LocalActivityWorkerOnly: true, StickyScheduleToStartTimeout: 2 * time.Second,
	})
	var began atomic.Pointer[time.Time]
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activityNamed("Empty"))
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 13 * time.Second})
		if err := workflow.ExecuteLocalActivity(ctx, "Empty").Get(ctx, nil); err != nil {
			return err
		}
		now := time.Now()
		began.CompareAndSwap(nil, &now)
		if done.Add(1) == int64(n) {
			finished <- now
		}
		return nil
	}, workflow.RegisterOptions{Name: "Bare"})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		done.Store(0)
		began.Store(nil)
		if err := startBare(ctx, temporal, lines.Text(), n); err != nil {
			return err
		}
		select {
		case end := <-finished:
			if err := json.NewEncoder(out).Encode(bareResult{end.Sub(*began.Load()).Seconds()}); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return lines.Err()
}

func startBare(ctx context.Context, temporal client.Client, run string, n int) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	failed := make(chan error, bareStarters)
	for range bareStarters {
		wait.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				_, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
					ID: fmt.Sprintf("bare/%s/%d", run, i), TaskQueue: bareQueue, EnableEagerStart: true, WorkflowTaskTimeout: 10 * time.Second,
				}, "Bare")
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(failed)
	return <-failed
}
