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

// helperVariable makes the test binary a process that runs a server on the directory it names and then waits to be
// killed.
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

// needPostgres skips a test on a machine without PostgreSQL, but never in CI.
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
		t.Fatal("this machine has no PostgreSQL")
	}
	t.Skip("this machine has no PostgreSQL")
}

// reachableDir returns a directory that PostgreSQL's user can reach, whoever that is.
func reachableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "localpg-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "postgres")
}

// start runs a server that is stopped at the end of the test if it still runs then.
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

// query runs a statement and returns the one text it yields.
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

// wantStartError runs a start that must fail with one line that has the given parts.
func wantStartError(t *testing.T, o Options, parts ...string) {
	t.Helper()
	server, err := Start(t.Context(), o)
	if err == nil {
		stop(t, server)
		t.Fatal("the server started")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestDataSurvivesARestart(t *testing.T) {
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
		t.Errorf("after a restart the table holds %q", got)
	}
	for setting, want := range map[string]string{
		"server_encoding": "UTF8", "timezone": "UTC", "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
		"max_connections": "200", "fsync": "on", "work_mem": "5MB", "port": strconv.Itoa(second.Port()),
	} {
		if got := query(t, second.URL("postgres"), `SELECT current_setting('`+setting+`')`); got != want {
			t.Errorf("%s = %q, want %q", setting, got, want)
		}
	}
	if got := query(t, second.URL("postgres"), `SELECT lower('ÄÖ')`); got != "äö" {
		t.Errorf("lower('ÄÖ') = %q", got)
	}
	if conn, err := pgx.Connect(t.Context(), strings.Replace(second.URL("postgres"), second.password, "wrong", 1)); err == nil {
		conn.Close(t.Context())
		t.Error("a wrong password is accepted")
	}
}

func TestTemporaryDirectoryGoesWithTheServer(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	server := start(t, Options{})
	if got := query(t, server.URL("postgres"), `SELECT current_setting('fsync')`); got != "off" {
		t.Errorf("fsync = %q", got)
	}
	stop(t, server)
	if _, err := os.Stat(server.home.path); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	o := Options{Dir: reachableDir(t)}
	server := start(t, o)
	wantStartError(t, o, server.home.path, "in use by process "+strconv.Itoa(os.Getpid()))

	// The same when who started the server is gone and the server is not.
	if err := os.Remove(filepath.Join(o.Dir, "lock")); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, o, server.home.path, "in use by process "+strconv.Itoa(server.process.cmd.Process.Pid))
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
		{"PG_VERSION", "garbage\n", `PG_VERSION says "garbage`},
		{"PG_VERSION", "9\n", "is PostgreSQL 9's"},
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
	start(t, o) // each damage was the only one
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

func TestInterruptedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	o := Options{Dir: reachableDir(t)}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if server, err := Start(ctx, o); err == nil {
		stop(t, server)
		t.Fatal("the server started in 300 ms")
	}
	start(t, o)
}

func TestDirectoryOutOfReach(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	if os.Geteuid() != 0 {
		t.Skip("only where PostgreSQL runs as another user")
	}
	parent := filepath.Join(filepath.Dir(reachableDir(t)), "private")
	o := Options{Dir: filepath.Join(parent, "postgres")}
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(refugeOf(o.Dir)) })

	server := start(t, o)
	if target, err := os.Readlink(o.Dir); err != nil || target != server.home.path {
		t.Errorf("%s leads to %q, %v", o.Dir, target, err)
	}
	kept := server.password
	stop(t, server)
	if again := start(t, o); again.password != kept {
		t.Error("the second start did not find the first one's data")
	} else {
		stop(t, again)
	}

	if err := os.Remove(o.Dir); err != nil {
		t.Fatal(err)
	}
	if fresh := start(t, o); fresh.password == kept {
		t.Error("deleting the directory did not start afresh")
	} else {
		stop(t, fresh)
	}

	if err := os.Remove(o.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(refugeOf(o.Dir), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, o, refugeOf(o.Dir), "belongs to another user")
}

func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can tie a child's life to its parent's")
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
	deadline := time.After(10 * time.Second)
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		select {
		case <-deadline:
			t.Fatal("the server outlives its parent")
		case <-time.After(10 * time.Millisecond):
		}
	}
	start(t, Options{Dir: dir}) // recovers
}

// zombie tells whether a process has ended and only waits for its end to be noticed.
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
		got, err := majorVersion(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("majorVersion(%q) = %d, %v", text, got, err)
		}
	}
}
