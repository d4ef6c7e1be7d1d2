// Package harness runs the real programs as processes of their own, for end-to-end tests
// and measurements.
package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Programs are the paths of the programs that were built.
type Programs struct{ Dev, Comanda string }

// Build builds the programs into a directory.
func Build(ctx context.Context, dir string) (Programs, error) {
	p := Programs{Dev: filepath.Join(dir, "dev"), Comanda: filepath.Join(dir, "comanda")}
	for path, pkg := range map[string]string{p.Dev: "github.com/comanda-dev/comanda/app/dev", p.Comanda: "github.com/comanda-dev/comanda/app/cmd/comanda"} {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
			return p, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return p, nil
}

// Knows reports whether the production program reads a setting, of which value is a valid value. It
// then names the setting when it refuses an impossible value, and does not name it with the valid
// one. Every program refuses to start without a database.
func (p Programs) Knows(ctx context.Context, setting, value string) bool {
	names := func(value string) bool {
		worker := exec.CommandContext(ctx, p.Comanda, "worker")
		worker.Env = []string{setting + "=" + value}
		out, err := worker.CombinedOutput()
		return err != nil && bytes.Contains(out, []byte(setting))
	}
	return names("?") && !names(value)
}

// Version returns the build of the production program.
func (p Programs) Version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, p.Comanda, "version").Output()
	return strings.TrimSpace(string(out)), err
}

// Ready is what `dev --infra` tells programs about itself.
type Ready struct {
	TemporalUIURL    string            `json:"temporalUiUrl"`
	TemporalAddress  string            `json:"temporalAddress"`
	DatabaseURL      string            `json:"databaseUrl"`
	OwnerDatabaseURL string            `json:"ownerDatabaseUrl"`
	CAFile           string            `json:"caFile"`
	Env              map[string]string `json:"env"`
}

// Infra is a running `dev --infra`: PostgreSQL and Temporal.
type Infra struct {
	*Process
	Ready Ready
}

// StartInfra starts PostgreSQL and Temporal on free ports, with their data in a directory.
func (p Programs) StartInfra(ctx context.Context, data string) (*Infra, error) {
	return p.StartInfraOn(ctx, 0, data, nil)
}

// StartInfraOn does so on the ports from a given one on, and with settings: DATABASE_URL
// names a PostgreSQL that runs already.
func (p Programs) StartInfraOn(ctx context.Context, port int, data string, settings map[string]string) (*Infra, error) {
	ready := filepath.Join(data, "ready.json")
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return nil, err
	}
	process, err := start(p.Dev, settings, "--infra", "--port", strconv.Itoa(port), "--data", data)
	if err != nil {
		return nil, err
	}
	infra := &Infra{Process: process}
	err = process.await(ctx, func() bool {
		text, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(text, &infra.Ready) == nil
	})
	if err != nil {
		process.Kill()
		return nil, err
	}
	return infra, nil
}

// StartComanda starts a part of the product beside the infrastructure: "serve" or
// "worker". Settings come on top of the infrastructure's own. It returns once the process
// says that it is ready.
func (p Programs) StartComanda(ctx context.Context, infra *Infra, part string, settings map[string]string) (*Process, error) {
	env := maps.Clone(infra.Ready.Env)
	admin, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	env["COMANDA_ADMIN_LISTEN"] = admin
	maps.Copy(env, settings)
	process, err := start(p.Comanda, env, part)
	if err != nil {
		return nil, err
	}
	process.Admin = "http://" + env["COMANDA_ADMIN_LISTEN"]
	health := []string{"COMANDA_ADMIN_LISTEN=" + env["COMANDA_ADMIN_LISTEN"]}
	err = process.await(ctx, func() bool {
		ask := exec.CommandContext(ctx, p.Comanda, "health")
		ask.Env = health
		return ask.Run() == nil
	})
	if err != nil {
		process.Kill()
		return nil, err
	}
	return process, nil
}

// FreeAddress returns an address on the loopback interface on which nobody listens.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// Process is a running program.
type Process struct {
	PID   int
	Admin string // URL of its admin address, where it has one
	cmd   *exec.Cmd
	out   output
	done  chan struct{}
}

func start(path string, env map[string]string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Env = os.Environ()
	for k, v := range env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = attributes()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.PID = p.cmd.Process.Pid
	go func() {
		defer close(p.done)
		p.cmd.Wait() // how it ended stands in ProcessState
	}()
	return p, nil
}

// await polls until the process is ready, has ended, or ctx is done.
func (p *Process) await(ctx context.Context, ready func() bool) error {
	for !ready() {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %s\n%s", p.cmd.Path, p.cmd.ProcessState, p.Output())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.cmd.Path, ctx.Err(), p.Output())
		case <-time.After(30 * time.Millisecond):
		}
	}
	return nil
}

// Output returns what the process has printed so far.
func (p *Process) Output() string { return p.out.String() }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill ends the process as a crash would.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Stop asks the process to end, and returns an error unless it does so in time and without
// failure.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s did not stop in time", p.cmd.Path)
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %s\n%s", p.cmd.Path, p.cmd.ProcessState, p.Output())
	}
	return nil
}

// output collects what a process prints while others read it.
type output struct {
	lock sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (o *output) Write(b []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.Write(b)
}

// String returns all of it.
func (o *output) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.String()
}
