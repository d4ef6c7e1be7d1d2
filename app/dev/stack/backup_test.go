package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/boot"
)

// documentedCommands returns the shell commands of docs/production.md that begin with a comment.
func documentedCommands(t *testing.T, comment string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n# " + comment + "\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatalf("docs/production.md has no commands for the %s", comment)
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

// dockerFunction runs the programs of `docker compose exec` on the server of the test. Other commands do nothing.
const dockerFunction = `docker() { case "$*" in "compose exec -T postgres "*) shift 4; "$@";; esac; }
`

// The documented commands restore a database with its rows, roles, passwords and row-level security: with compose on a
// server that deploy/postgres.sh has prepared, and on an empty server.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	postgresScript, err := os.ReadFile("../../../deploy/postgres.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, commands := range map[string]struct{ backup, restore string }{
		"compose": {
			backup: dockerFunction + documentedCommands(t, "backup with compose"),
			restore: string(postgresScript) + dockerFunction +
				strings.Repeat(documentedCommands(t, "restore with compose"), 2), // the second replaces the first
		},
		"empty server": {
			backup:  documentedCommands(t, "backup"),
			restore: documentedCommands(t, "roles") + documentedCommands(t, "restore"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			original := startBackupServer(t)
			original.run(t, dir, string(postgresScript))
			if err := boot.Migrate(t.Context(), original.url("comanda_owner", "owner"), io.Discard); err != nil {
				t.Fatal(err)
			}
			original.run(t, dir, `psql -qd comanda -c "INSERT INTO websites (id, name, domain, plan, created_at) VALUES
				('web_1', 'Restored', '`+restoredDomain+`', 'STARTER', now())"`)
			original.run(t, dir, commands.backup)
			restored := startBackupServer(t)
			restored.run(t, dir, commands.restore)
			checkRestored(t, original, restored)
		})
	}
}

// restoredDomain is the domain of the only website in the backup.
const restoredDomain = "restored.example"

// checkRestored compares the database of a restored server with the original, and checks that Comanda accepts it.
func checkRestored(t *testing.T, original, restored backupServer) {
	t.Helper()
	for _, part := range []string{"serve", "worker"} {
		acceptLogins(t, restored.url("comanda_"+part, part), restored.url("comanda_"+part+"_system", part+"_system"))
	}
	owner := func(s backupServer) *pgx.Conn {
		connection, err := pgx.Connect(t.Context(), s.url("comanda_owner", "owner"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { connection.Close(context.Background()) })
		return connection
	}
	before, after := owner(original), owner(restored)
	var domain string
	err := after.QueryRow(t.Context(), "SELECT domain FROM websites").Scan(&domain)
	if err != nil || domain != restoredDomain {
		t.Errorf("the restored website: got %q and %v, want %q", domain, err, restoredDomain)
	}
	const policies = "SELECT count(*) FROM pg_policies"
	var want, got int
	err = errors.Join(before.QueryRow(t.Context(), policies).Scan(&want),
		after.QueryRow(t.Context(), policies).Scan(&got))
	if err != nil || want == 0 || got != want {
		t.Errorf("policies of row-level security: got %d, want %d (%v)", got, want, err)
	}
}
