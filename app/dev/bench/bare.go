package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	bareQueue    = "bare"
	bareStarters = 8 // more gain nothing on one machine
)

// bareWorker is a process that runs bare workflows.
type bareWorker struct {
	process *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Scanner
	runs    int
}

// bareRun requests a run of workflows from a bare worker. bareResult is its response.
type (
	bareRun    struct{ Run, Workflows int }
	bareResult struct{ Seconds float64 } // from the first activity to the last
)

func startBare(address string) (*bareWorker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &bareWorker{process: exec.Command(self, "-bare", address)}
	w.process.Stderr = os.Stderr
	if w.in, err = w.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.lines = bufio.NewScanner(out)
	return w, w.process.Start()
}

func (w *bareWorker) close() {
	w.in.Close()
	w.process.Wait()
}

// run runs n workflows.
func (w *bareWorker) run(n int) (result bareResult, err error) {
	w.runs++
	if err := json.NewEncoder(w.in).Encode(bareRun{w.runs, n}); err != nil {
		return result, err
	}
	if !w.lines.Scan() {
		return result, errors.New("the bare worker has ended")
	}
	return result, json.Unmarshal(w.lines.Bytes(), &result)
}

// warmBare returns the processes whose CPU time bare workflows use, warmed up.
func (b *bench) warmBare() (p processes, err error) {
	if b.bare == nil {
		if b.bare, err = startBare(b.infra.Ready.TemporalAddress); err != nil {
			return p, err
		}
	}
	if _, err := b.bare.run(max(b.events/warmUpShare, 1)); err != nil {
		return p, fmt.Errorf("warm-up: %w", err)
	}
	return b.processes(b.bare.process.Process.Pid)
}

// bareLimit measures workflows without any work.
func bareLimit(ctx context.Context, b *bench, _ program) (result sample, err error) {
	p, err := b.warmBare()
	if err != nil {
		return result, err
	}
	before, err := settle(ctx, p)
	if err != nil {
		return result, err
	}
	ran, err := b.bare.run(b.events)
	if err != nil {
		return result, err
	}
	after, err := settle(ctx, p)
	if err != nil {
		return result, err
	}
	each := after.since(before).times(1 / float64(b.events))
	return sample{cpu: &each, values: map[string]float64{
		keyRate: float64(b.events-1) / ran.Seconds, keyCPU: each.sum(),
	}}, nil
}

// runBare is the process of the bare worker. It responds to each bareRun with a bareResult.
func runBare(ctx context.Context, address string, in io.Reader, out io.Writer) error {
	temporal, err := client.Dial(client.Options{
		HostPort: address, Logger: temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		// No compression, as in Comanda's worker.
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}},
	})
	if err != nil {
		return err
	}
	defer temporal.Close()
	w := worker.New(temporal, bareQueue, worker.Options{
		MaxConcurrentWorkflowTaskExecutionSize: 4000, MaxConcurrentLocalActivityExecutionSize: 4000,
		MaxConcurrentWorkflowTaskPollers: 8, LocalActivityWorkerOnly: true,
		StickyScheduleToStartTimeout: 2 * time.Second,
	})
	ended := make(chan time.Time, bareStarters)
	registerBare(w, ended)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	for requests := json.NewDecoder(in); ; {
		var run bareRun
		if err := requests.Decode(&run); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		result, err := runBareOnce(ctx, temporal, run, ended)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(result); err != nil {
			return err
		}
	}
}

// registerBare registers a workflow with one empty local activity, whose end it reports.
func registerBare(w worker.Worker, ended chan<- time.Time) {
	empty := func(context.Context) error { return nil }
	w.RegisterActivityWithOptions(empty, activity.RegisterOptions{Name: "Empty"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		options := workflow.LocalActivityOptions{StartToCloseTimeout: 13 * time.Second}
		ctx = workflow.WithLocalActivityOptions(ctx, options)
		if err := workflow.ExecuteLocalActivity(ctx, "Empty").Get(ctx, nil); err != nil {
			return err
		}
		ended <- time.Now()
		return nil
	}, workflow.RegisterOptions{Name: "Bare"})
}

func runBareOnce(ctx context.Context, temporal client.Client, run bareRun, ended <-chan time.Time) (bareResult, error) {
	failed := make(chan error, 1)
	go func() { failed <- startAllBare(ctx, temporal, run) }()
	var first, last time.Time
	for n := 0; n < run.Workflows; {
		select {
		case last = <-ended:
			if n++; n == 1 {
				first = last
			}
		case err := <-failed:
			if err != nil {
				return bareResult{}, err
			}
			failed = nil
		case <-ctx.Done():
			return bareResult{}, ctx.Err()
		}
	}
	return bareResult{last.Sub(first).Seconds()}, nil
}

// startAllBare starts the workflows of a run.
func startAllBare(ctx context.Context, temporal client.Client, run bareRun) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	failed := make(chan error, bareStarters)
	for range bareStarters {
		wait.Go(func() {
			for i := next.Add(1); i <= int64(run.Workflows); i = next.Add(1) {
				_, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
					ID: fmt.Sprintf("bare/%d/%d", run.Run, i), TaskQueue: bareQueue,
					EnableEagerStart: true, WorkflowTaskTimeout: 10 * time.Second,
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
