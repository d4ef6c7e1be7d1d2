// Package harness builds and runs the real programs as separate processes, for end-to-end tests and benchmarks.
package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/comanda-dev/comanda/app/freeport"
)

// Packages of the programs.
const (
	stackPackage   = "github.com/comanda-dev/comanda/app/dev/stack"
	comandaPackage = "github.com/comanda-dev/comanda/app/cmd/comanda"
)

// Programs are the paths of the built programs.
type Programs struct {
	Dev, Comanda string
}

// Build builds the programs into a directory. It takes them from the directory TEST_PROGRAMS if the variable is set:
// .ci/run builds them once for all packages, because linking Temporal takes longer than most tests.
func Build(ctx context.Context, dir string) (Programs, error) {
	if built := os.Getenv("TEST_PROGRAMS"); built != "" {
		return Programs{Dev: filepath.Join(built, "dev"), Comanda: filepath.Join(built, "comanda")}, nil
	}
	p := Programs{Dev: filepath.Join(dir, "dev"), Comanda: filepath.Join(dir, "comanda")}
	for path, pkg := range map[string]string{p.Dev: stackPackage, p.Comanda: comandaPackage} {
		build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, pkg)
		if out, err := build.CombinedOutput(); err != nil {
			return p, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return p, nil
}

// Version returns the version of the production program.
func (p Programs) Version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, p.Comanda, "version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(first, "comanda "), err
}

// Ready is the content of ready.json of `dev --infra`.
type Ready struct {
	TemporalAddress  string            `json:"temporalAddress"`
	OwnerDatabaseURL string            `json:"ownerDatabaseUrl"`
	CAFile           string            `json:"caFile"`
	Env              map[string]string `json:"env"`
}

// Infra is a running `dev --infra`: PostgreSQL and Temporal.
type Infra struct {
	*Process
	Ready Ready
}

// StartInfra starts PostgreSQL and Temporal on free ports, with data as their directory.
func (p Programs) StartInfra(ctx context.Context, data string) (*Infra, error) {
	return p.StartInfraOn(ctx, 0, data, nil)
}

// StartInfraOn is StartInfra with a first port, whose successors are used too, with environment variables and further
// flags. With DATABASE_URL, it uses that PostgreSQL server instead of starting one.
func (p Programs) StartInfraOn(
	ctx context.Context, port int, data string, settings map[string]string, flags ...string,
) (*Infra, error) {
	ready := filepath.Join(data, "ready.json")
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a killed process
		return nil, err
	}
	args := append([]string{"--infra", "--port", strconv.Itoa(port), "--data", data}, flags...)
	process, err := run(p.Dev, settings, args...)
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

// StartComanda starts "serve" or "worker" on the infrastructure. settings override the environment of the
// infrastructure. It returns when the process is ready.
func (p Programs) StartComanda(
	ctx context.Context, infra *Infra, part string, settings map[string]string,
) (*Process, error) {
	env := maps.Clone(infra.Ready.Env)
	admin, err := freeport.Address()
	if err != nil {
		return nil, err
	}
	env["COMANDA_ADMIN_LISTEN"] = admin
	maps.Copy(env, settings)
	process, err := run(p.Comanda, env, part)
	if err != nil {
		return nil, err
	}
	process.Admin = "http://" + env["COMANDA_ADMIN_LISTEN"]
	if err := process.await(ctx, func() bool { return healthy(ctx, process.Admin) }); err != nil {
		process.Kill()
		return nil, err
	}
	return process, nil
}

// healthy reports whether the process with an admin listener at this URL is ready.
func healthy(ctx context.Context, admin string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Start starts the production program with arguments, for example "listen". It does not wait until the program works.
func (p Programs) Start(settings map[string]string, args ...string) (*Process, error) {
	return run(p.Comanda, settings, args...)
}

// Process is a running program.
type Process struct {
	PID   int
	Admin string // URL of its admin address; "" = none
	cmd   *exec.Cmd
	out   output
	done  chan struct{}
}

// run starts a program that no context ends.
func run(path string, env map[string]string, args ...string) (*Process, error) {
	return start(exec.CommandContext(context.Background(), path, args...), env)
}

func start(cmd *exec.Cmd, env map[string]string) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
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
		p.cmd.Wait() // the result is in ProcessState
	}()
	return p, nil
}

// await waits until the process is ready. It returns an error if the process ends or ctx ends first.
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

// Output returns the output of the process so far.
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

// Kill kills the process, like a crash.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Stop sends SIGTERM and waits for the process. It returns an error if the process fails, or if ctx ends first; then it
// kills the process.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s did not stop: %w", p.cmd.Path, ctx.Err())
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %s\n%s", p.cmd.Path, p.cmd.ProcessState, p.Output())
	}
	return nil
}

// output collects the output of a process. It is safe for concurrent use.
type output struct {
	lock sync.Mutex
	text bytes.Buffer
}

// Write appends output.
func (o *output) Write(b []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.Write(b)
}

// String returns all output so far.
func (o *output) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.String()
}
