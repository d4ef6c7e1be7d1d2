package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// disturb is the function of a fault.
type disturb = func(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (detail string, err error)

func killPart(program string) disturb {
	return func(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (string, error) {
		p := w.pick(r, program)
		if err := p.kill(w); err != nil {
			return "", err
		}
		return p.name, wait(ctx, lasts)
	}
}

func killTemporal(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	w.infra.Kill()
	return "", wait(ctx, lasts)
}

func killPostgres(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	if err := w.killPostgres(ctx); err != nil {
		return "", err
	}
	return "", wait(ctx, lasts)
}

func restartPostgres(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	if err := w.stopPostgres(ctx); err != nil {
		return "", err
	}
	return "", wait(ctx, lasts/2)
}

func suspendPart(program string) disturb {
	return func(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (string, error) {
		p := w.pick(r, program)
		return p.name, suspend(ctx, p.process, lasts)
	}
}

func suspendTemporal(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	return "", suspend(ctx, w.infra.Process, lasts)
}

// suspend stops a process for some time, as a host that swaps or a virtual machine that moves.
func suspend(ctx context.Context, p *harness.Process, lasts time.Duration) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return errors.Join(wait(ctx, lasts), p.Signal(syscall.SIGCONT))
}

// suspendPostgres stops the postmaster first, so that no further process starts.
func suspendPostgres(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (detail string, err error) {
	conn, err := pgx.Connect(ctx, w.SuperuserURL())
	if err != nil {
		return "", err
	}
	stopped := []int{w.postgres.PID()}
	defer func() {
		for _, pid := range stopped {
			err = errors.Join(err, ignoreEnded(syscall.Kill(pid, syscall.SIGCONT)))
		}
		err = errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}()
	if err := syscall.Kill(stopped[0], syscall.SIGSTOP); err != nil {
		return "", err
	}
	rows, err := conn.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
	if err != nil {
		return "", err
	}
	children, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return "", err
	}
	for _, pid := range children {
		stopped = append(stopped, pid)
		if err := ignoreEnded(syscall.Kill(pid, syscall.SIGSTOP)); err != nil {
			return "", err
		}
	}
	return "", wait(ctx, lasts)
}

func ignoreEnded(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// rollingRestart returns the seconds that each part has taken to stop and to start.
func rollingRestart(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	var took []string
	for _, p := range w.parts {
		began := time.Now()
		if err := p.terminate(ctx, w); err != nil {
			return "", err
		}
		stopped := time.Now()
		if err := p.start(ctx, w); err != nil {
			return "", err
		}
		took = append(took, fmt.Sprintf("%s %.1f+%.1f", p.name, stopped.Sub(began).Seconds(), time.Since(stopped).Seconds()))
		if err := wait(ctx, lasts/time.Duration(len(w.parts))); err != nil {
			return "", err
		}
	}
	return strings.Join(took, ", "), nil
}
