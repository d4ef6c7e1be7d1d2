//go:build unix

package localpg

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// helperVariable is the environment variable that makes the test binary run a server on the given
// directory until the process is killed.
const helperVariable = "LOCALPG_TEST_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVariable); dir != "" {
		server, err := Start(context.Background(), Options{Dir: dir})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(server.process.cmd.Process.Pid)
		select {}
	}
	os.Exit(m.Run())
}

// needPostgres skips a test on a machine without PostgreSQL; in CI it fails.
func needPostgres(t *testing.T) {
	t.Helper()
	installed, err := installedBinaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(installed) > 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("PostgreSQL is not installed")
	}
	t.Skip("PostgreSQL is not installed")
}

// reachableDir returns a directory that the user who runs PostgreSQL can reach.
func reachableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(TempDir(), "localpg-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "postgres")
}

// start starts a server that ends with the test.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	server, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	return server
}

func stop(t *testing.T, server *Server) {
	t.Helper()
	if err := server.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// query runs a statement and returns its only value.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var text string
	if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// wantStartError checks that a start fails with an error of one line that contains the given parts.
func wantStartError(t *testing.T, o Options, parts ...string) {
	t.Helper()
	server, err := Start(t.Context(), o)
	if err == nil {
		stop(t, server)
		t.Fatalf("Start succeeded, want an error with %q", parts)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %q, want one line", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, want it to contain %q", err, part)
		}
	}
}

func TestDataSurvivesRestart(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	o := Options{Dir: reachableDir(t), Durable: true, Settings: map[string]string{"work_mem": "5MB"}}
	first := start(t, o)
	query(t, first.URL("postgres"), `WITH t AS (SELECT set_config('a.b', 'c', false)) SELECT 'x' FROM t`)
	conn, err := pgx.Connect(t.Context(), first.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `CREATE TABLE kept AS SELECT 'comanda' AS name`); err != nil {
		t.Fatal(err)
	}
	stop(t, first) // while a client is connected

	second := start(t, o)
	if got := query(t, second.URL("postgres"), `SELECT name FROM kept`); got != "comanda" {
		t.Errorf("row after a restart: got %q, want %q", got, "comanda")
	}
	for setting, want := range map[string]string{
		"server_encoding": "UTF8", "timezone": "UTC", "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
		"max_connections": "200", "fsync": "on", "work_mem": "5MB", "port": strconv.Itoa(second.port),
	} {
		t.Run(setting, func(t *testing.T) {
			if got := query(t, second.URL("postgres"), `SELECT current_setting('`+setting+`')`); got != want {
				t.Errorf("%s = %q, want %q", setting, got, want)
			}
		})
	}
	if got := query(t, second.URL("postgres"), `SELECT lower('ÄÖ')`); got != "äö" {
		t.Errorf("lower('ÄÖ'): got %q, want %q", got, "äö")
	}
	wrong := strings.Replace(second.URL("postgres"), second.password, "wrong", 1)
	if conn, err := pgx.Connect(t.Context(), wrong); err == nil {
		conn.Close(t.Context())
		t.Error("a connection with a wrong password succeeded")
	}
}

func TestStopDeletesTemporaryDirectory(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	server := start(t, Options{})
	if got := query(t, server.URL("postgres"), `SELECT current_setting('fsync')`); got != "off" {
		t.Errorf("fsync: got %q, want %q", got, "off")
	}
	stop(t, server)
	if _, err := os.Stat(server.home.path); !os.IsNotExist(err) {
		t.Errorf("Stat of the directory after Stop: got error %v, want %v", err, os.ErrNotExist)
	}
}

func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	o := Options{Dir: reachableDir(t)}
	server := start(t, o)
	wantStartError(t, o, server.home.path, "in use by process "+strconv.Itoa(os.Getpid()))

	// Without the lock, the server itself counts as the user of the directory.
	want := "in use by process " + strconv.Itoa(server.process.cmd.Process.Pid)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := AwaitFormer(ctx, o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("wait for the running server: got error %v, want it to contain %q", err, want)
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	wantStartError(t, Options{Port: port}, fmt.Sprintf("port %d", port), "taken")
}

func TestBrokenDirectory(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	o := Options{Dir: reachableDir(t)}
	stop(t, start(t, o))
	for _, damage := range []struct {
		file, content string
		want          string
	}{
		{"PG_VERSION", "garbage\n", `PG_VERSION contains "garbage`},
		{"PG_VERSION", "9\n", "was created by PostgreSQL 9"},
		{"global/pg_control", "too short", "pg_control"},
	} {
		t.Run(damage.file, func(t *testing.T) {
			path := filepath.Join(o.Dir, "data", damage.file)
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(damage.content), 0o600); err != nil {
				t.Fatal(err)
			}
			wantStartError(t, o, o.Dir, damage.want)
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	start(t, o) // the directory is intact again
}

func TestMissingVersionFile(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	dir := reachableDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, Options{Dir: dir}, "broken", "PG_VERSION")
}

func TestInterruptedStartCanBeRepeated(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	o := Options{Dir: reachableDir(t)}
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := o
	interrupted.Log = onNotice(func(string) { cancel() }) // at the first output of initdb
	if server, err := Start(ctx, interrupted); err == nil {
		stop(t, server)
		t.Fatal("interrupted Start: got no error, want one")
	}
	start(t, o)
}

func TestUnreachableDirectoryBecomesLink(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	if os.Geteuid() != 0 {
		t.Skip("requires root, so that PostgreSQL runs as another user")
	}
	parent := filepath.Join(filepath.Dir(reachableDir(t)), "private")
	o := Options{Dir: filepath.Join(parent, "postgres")}
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(fallbackOf(o.Dir)) })

	server := start(t, o)
	if target, err := os.Readlink(o.Dir); err != nil || target != server.home.path {
		t.Errorf("link %s: got target %q and error %v, want %q", o.Dir, target, err, server.home.path)
	}
	kept := server.password
	stop(t, server)
	if again := start(t, o); again.password != kept {
		t.Error("the second start created another cluster, want the first one")
	} else {
		stop(t, again)
	}

	if err := os.Remove(o.Dir); err != nil {
		t.Fatal(err)
	}
	if fresh := start(t, o); fresh.password == kept {
		t.Error("the start after the directory was deleted used the old cluster, want a new one")
	} else {
		stop(t, fresh)
	}

	if err := os.Remove(o.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(fallbackOf(o.Dir), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, o, fallbackOf(o.Dir), "belongs to another user")
}

func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	dir := reachableDir(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperVariable+"="+dir)
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(output, &pid); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	deadline := time.After(time.Minute)
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		select {
		case <-deadline:
			t.Fatal("the server still runs a minute after its parent was killed")
		case <-time.After(10 * time.Millisecond):
		}
	}
	start(t, Options{Dir: dir}) // recovers the cluster
}

// zombie reports whether a process has ended and its exit status has not been collected.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestMajorVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18.3\n":                           18,
		"postgres (PostgreSQL) 19beta1\n":                        19,
		"something else":                                         0,
	} {
		t.Run(text, func(t *testing.T) {
			got, err := majorVersion(text)
			if got != want || (err == nil) != (want > 0) {
				t.Errorf("majorVersion(%q): got %d and error %v, want %d", text, got, err, want)
			}
		})
	}
}
