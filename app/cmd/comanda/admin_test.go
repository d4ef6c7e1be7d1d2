package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// comanda runs the program with a text as its standard input.
func comanda(t *testing.T, databaseURL, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stdin")
	if err := os.WriteFile(path, []byte(stdin), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out, complaints bytes.Buffer
	code = run(t.Context(), args, map[string]string{"DATABASE_URL": databaseURL}, file, &out, &complaints)
	return code, out.String(), complaints.String()
}

func TestCreatePlatformAdmin(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	create := func(stdin string, args ...string) (int, string, string) {
		t.Helper()
		return comanda(t, db.URL, stdin, append([]string{"admin", "create-platform-admin"}, args...)...)
	}
	code, out, complaints := create("correct horse\n", "--email", "root@example.com", "--name", "Root")
	if code != 0 || !strings.Contains(out, "root@example.com") || strings.Contains(out+complaints, "horse") {
		t.Errorf("%d: %s%s", code, out, complaints)
	}
	if login, err := db.LoginByEmail(t.Context(), "root@example.com"); err != nil || login.User.PlatformRole == nil {
		t.Errorf("%+v, %v", login.User, err)
	}
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		"the same again":           {"correct horse", []string{"--email", "root@example.com", "--name", "Root"}, 1},
		"a weak password":          {"horse\n", []string{"--email", "a@example.com", "--name", "A"}, 1},
		"no password":              {"", []string{"--email", "a@example.com", "--name", "A"}, 1},
		"a long password":          {strings.Repeat("horse", 1<<20), []string{"--email", "a@example.com", "--name", "A"}, 1},
		"a password as argument":   {"", []string{"--email", "a@example.com", "--name", "A", "--password", "correct horse"}, 2},
		"a password at the end":    {"", []string{"--email", "a@example.com", "--name", "A", "correct horse"}, 2},
		"no address":               {"correct horse", []string{"--name", "A"}, 1},
		"nothing":                  {"correct horse", nil, 2},
		"a longest password of CR": {strings.Repeat("x", 1025) + "\r\n", []string{"--email", "a@example.com", "--name", "A"}, 1},
	} {
		if code, out, complaints := create(c.stdin, c.args...); code != c.code || out != "" || strings.Contains(complaints, "horse") {
			t.Errorf("%s: %d, %s%s", name, code, out, complaints)
		}
		if _, err := db.LoginByEmail(t.Context(), "a@example.com"); app.CodeOf(err) != app.CodeNotFound {
			t.Fatalf("%s: somebody was let in: %v", name, err)
		}
	}
	for _, newline := range []string{"\n", "\r\n", ""} {
		email := "long" + strings.Trim(strings.ReplaceAll(strings.ReplaceAll(newline, "\r", "cr"), "\n", "lf"), " ") + "@example.com"
		if code, _, complaints := create(strings.Repeat("x", 1024)+newline, "--email", email, "--name", "A"); code != 0 {
			t.Errorf("1,024 bytes and %q: %s", newline, complaints)
		}
	}
}
