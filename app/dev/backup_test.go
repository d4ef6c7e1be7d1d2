package main

import (
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/boot"
	"github.com/comanda-dev/comanda/persistence"
)

// documentedCommands returns the shell commands of docs/running.md that begin with a comment.
func documentedCommands(t *testing.T, comment string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/running.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n# " + comment + "\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatalf("docs/running.md has no commands for the %s", comment)
	}
	return string(block[1])
}

// backupServer is a PostgreSQL server on which the documented commands run.
type backupServer struct {
	admin *url.URL // of the superuser
}

func startBackupServer(t *testing.T) backupServer {
	t.Helper()
	server := startPostgres(t)
	admin, err := url.Parse(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	return backupServer{admin}
}

// run executes a shell script in a directory, with the superuser's access to the server.
func (s backupServer) run(t *testing.T, dir, script string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-euc", script)
	command.Dir = dir
	password, _ := s.admin.User.Password()
	command.Env = append(os.Environ(), "PATH="+psqlPath(t), "PGHOST="+s.admin.Hostname(), "PGPORT="+s.admin.Port(),
		"PGUSER="+s.admin.User.Username(), "PGPASSWORD="+password, "POSTGRES_USER="+s.admin.User.Username())
	for name, value := range composeSettings() {
		command.Env = append(command.Env, name+"="+value)
	}
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// url returns the URL of Comanda's database for a role.
func (s backupServer) url(role, password string) string {
	u := *s.admin
	u.User, u.Path = url.UserPassword(role, password), "/comanda"
	return u.String()
}

// The documented commands restore a database with its rows, roles, passwords and row-level security on an empty server.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../deploy/postgres.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	original := startBackupServer(t)
	original.run(t, dir, string(script))
	owner := func(s backupServer) string { return s.url("comanda_owner", "owner") }
	if err := boot.Migrate(t.Context(), owner(original), "up", io.Discard); err != nil {
		t.Fatal(err)
	}
	const domain = "restored.example"
	original.run(t, dir, `psql -qd comanda -c "INSERT INTO websites (id, name, domain, plan, created_at) VALUES
		('web_1', 'Restored', '`+domain+`', 'STARTER', now())"`)
	original.run(t, dir, documentedCommands(t, "backup"))

	restored := startBackupServer(t)
	restored.run(t, dir, documentedCommands(t, "restore"))
	db, err := persistence.Open(persistence.Config{URL: restored.url("comanda", "login")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := errors.Join(db.CheckSchema(t.Context()), db.CheckRole(t.Context())); err != nil {
		t.Errorf("as Comanda's process: %v", err)
	}
	connection, err := pgx.Connect(t.Context(), owner(restored))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	var got string
	if err := connection.QueryRow(t.Context(), "SELECT domain FROM websites").Scan(&got); err != nil || got != domain {
		t.Errorf("the restored website: got %q and %v, want %q", got, err, domain)
	}
	const policies = "SELECT count(*) FROM pg_policies"
	var before, after int
	source, err := pgx.Connect(t.Context(), owner(original))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close(t.Context())
	err = errors.Join(source.QueryRow(t.Context(), policies).Scan(&before),
		connection.QueryRow(t.Context(), policies).Scan(&after))
	if err != nil || before == 0 || before != after {
		t.Errorf("policies of row-level security: got %d, want %d (%v)", after, before, err)
	}
}
