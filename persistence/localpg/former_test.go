//go:build linux

package localpg

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// orphan creates a cluster and runs a server on it without a Server, as after the Server's process was
// killed. This process is the server's parent. Therefore the ended server stays a zombie until the
// test collects its exit status.
func orphan(t *testing.T, o Options) *exec.Cmd {
	t.Helper()
	needPostgres(t)
	server := start(t, o)
	url, port := server.URL(superuser), server.port
	stop(t, server)
	h := server.home
	bin, err := findBinaries(t.Context(), 0, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	postmaster := h.command(context.Background(), bin.postgres(), serverArgs(h, port, o)...)
	if err := postmaster.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = postmaster.Process.Kill()
		_ = postmaster.Wait()
	})
	deadline := time.After(time.Minute)
	for {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			conn.Close(t.Context())
			return postmaster
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// frozenSession connects to a server and stops the process of the connection, which then ends only by
// SIGKILL.
func frozenSession(t *testing.T, o Options) (pid int) {
	t.Helper()
	h := &home{path: o.Dir}
	password, err := h.password()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(h.data(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(strings.Split(string(text), "\n")[3])
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), (&Server{port: port, password: password}).URL(superuser))
	if err != nil {
		t.Fatal(err)
	}
	pid = int(conn.PgConn().PID())
	signal(t, pid, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

func TestStartAfterKilledUnreapedServer(t *testing.T) {
	t.Parallel()
	o := Options{Dir: reachableDir(t)}
	former := orphan(t, o)
	signal(t, former.Process.Pid, syscall.SIGKILL)
	start(t, o)
}

func TestStartWaitsForSessionOfKilledServer(t *testing.T) {
	t.Parallel()
	o := Options{Dir: reachableDir(t)}
	former := orphan(t, o)
	session := frozenSession(t, o)
	signal(t, former.Process.Pid, syscall.SIGKILL)
	o.Notice = onNotice(func(text string) {
		if !strings.Contains(text, o.Dir) {
			t.Errorf("got notice %q, want one that names the server", text)
		}
		signal(t, session, syscall.SIGKILL)
	})
	start(t, o)
}

func TestStartWaitsForStoppingServer(t *testing.T) {
	t.Parallel()
	o := Options{Dir: reachableDir(t)}
	former := orphan(t, o)
	session := frozenSession(t, o)
	signal(t, former.Process.Pid, syscall.SIGQUIT)
	o.Notice = onNotice(func(text string) {
		if !strings.Contains(text, "process "+strconv.Itoa(former.Process.Pid)) {
			t.Errorf("got notice %q, want one that names the server", text)
		}
		signal(t, session, syscall.SIGKILL)
	})
	start(t, o)
}

func TestStartWithReusedProcessID(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	o := Options{Dir: reachableDir(t)}
	server := start(t, o)
	stop(t, server)
	other := server.home.command(t.Context(), "sleep", "600") // runs as the same user
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	pidFile := filepath.Join(server.home.data(), "postmaster.pid")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(other.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.home.runAs.take(pidFile); err != nil {
		t.Fatal(err)
	}
	start(t, o)
}

func TestHasEnded(t *testing.T) {
	t.Parallel()
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if hasEnded(os.Getpid()) || hasEnded(child.Process.Pid) {
		t.Error("a running process has ended")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(endingTime); !hasEnded(child.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a killed child has not ended before Wait")
		}
	}
	_ = child.Wait()
	if !hasEnded(child.Process.Pid) {
		t.Error("a child has not ended after Wait")
	}
}

func TestWorksIn(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dir  string
		want bool
	}{{dir, true}, {t.TempDir(), false}} {
		if got := worksIn(os.Getpid(), test.dir); got != test.want {
			t.Errorf("worksIn(this process, %s): got %v, want %v", test.dir, got, test.want)
		}
	}
}
