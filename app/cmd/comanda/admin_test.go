package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// comanda runs the program with the given text as standard input.
func comanda(
	t *testing.T, db *persistencetest.Database, stdin string, args ...string,
) (code int, stdout, stderr string) {
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
	var out, errors bytes.Buffer
	environ := map[string]string{
		"DATABASE_URL": db.URL, "COMANDA_SYSTEM_DATABASE_URL": db.SystemURL,
		"COMANDA_BASE_URL": "https://comanda.example/",
	}
	code = run(t.Context(), args, environ, file, &out, &errors)
	return code, out.String(), errors.String()
}

// The commands about users and the schema read DATABASE_URL_FILE. Both variables, or a file that is missing, are an
// error.
func TestCommandsReadFiles(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	persistencetest.Open(t, db, "one.example")
	written := func(url string) (path string) {
		path = filepath.Join(t.TempDir(), "url")
		persistencetest.Must(t, os.WriteFile(path, []byte(url+"\n"), 0o600))
		return path
	}
	file, systemFile, ownerFile := written(db.URL), written(db.SystemURL), written(db.OwnerURL)
	end := []string{"admin", "end-sessions", "--email", "owner@one.example"}
	for name, c := range map[string]struct {
		args    []string
		environ map[string]string
		want    string // of the standard error; "" = success
	}{
		"files": {
			end, map[string]string{"DATABASE_URL_FILE": file, "COMANDA_SYSTEM_DATABASE_URL_FILE": systemFile}, "",
		},
		"status": {[]string{"migrate", "status"}, map[string]string{"DATABASE_URL_FILE": ownerFile}, ""},
		"down": {
			[]string{"migrate", "down"}, map[string]string{"DATABASE_URL_FILE": ownerFile},
			"comanda: reverting 10 migrations (001 ... 010) would delete:\n  acceptances: table (no rows, ",
		},
		"both": {
			end, map[string]string{"DATABASE_URL_FILE": file, "DATABASE_URL": db.URL},
			"comanda: DATABASE_URL, DATABASE_URL_FILE: set one of them, not both\n",
		},
		"missing": {
			end, map[string]string{"DATABASE_URL_FILE": file + "x"}, "comanda: DATABASE_URL_FILE: open " + file +
				"x: no such",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), c.args, c.environ, nil, &stdout, &stderr)
			if (code == 0) != (c.want == "") || !strings.HasPrefix(stderr.String(), c.want) {
				t.Errorf("got exit code %d and %q, want the error %q", code, stderr.String(), c.want)
			}
		})
	}
}

// The commands about users, of which the last one prints a link that works once.
func TestAdministerUsers(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := persistencetest.Open(t, db, "one.example")
	role := app.PlatformAdmin
	root, err := db.CreateUser(t.Context(), persistencetest.Noon, identity.NewUser{
		Email: "root@example.com", Name: "Root", PasswordHash: "-", PlatformRole: &role,
	})
	persistencetest.Must(t, err)
	admin := func(args ...string) (int, string, string) {
		t.Helper()
		return comanda(t, db, "", append([]string{"admin"}, args...)...)
	}
	for _, c := range []struct {
		user  app.User
		store app.StoreID
	}{{r.Owner, r.Stores[0]}, {app.User{ID: root, Email: "root@example.com", PlatformRole: &role}, ""}} {
		session := persistencetest.Session(t, db.DB, time.Now(), c.user, c.store, time.Hour)
		authenticate := func(session app.SessionID) app.Code {
			_, err := db.Authenticate(t.Context(), session, c.user.ID, c.store)
			return app.CodeOf(err)
		}
		email := strings.ToUpper(c.user.Email)
		if code, out, errors := admin("end-sessions", "--email", email); code != 0 || !strings.Contains(out, "1") ||
			authenticate(session.ID) != app.CodeTokenRevoked {
			t.Errorf("end-sessions: exit status %d, %s%s, want the session ended", code, out, errors)
		}
		session = persistencetest.Session(t, db.DB, time.Now(), c.user, c.store, time.Hour)
		for range 2 {
			if code, _, errors := admin("disable-user", "--email", email); code != 0 ||
				authenticate(session.ID) != app.CodeTokenRevoked {
				t.Errorf("disable-user: exit status %d, %s, want the session ended", code, errors)
			}
		}
		if code, out, errors := admin("reset-password", "--email", email); code != 1 || out != "" ||
			!strings.Contains(errors, "disabled") {
			t.Errorf("reset-password of a disabled user: exit status %d, %s%s, want 1", code, out, errors)
		}
		if code, _, errors := admin("enable-user", "--email", email); code != 0 ||
			authenticate(session.ID) != app.CodeTokenRevoked {
			t.Errorf("enable-user: exit status %d, %s, want 0 and no session", code, errors)
		}
		code, out, errors := admin("reset-password", "--email", email)
		link, ok := strings.CutPrefix(out, "https://comanda.example/account/reset#token=")
		if code != 0 || !ok {
			t.Fatalf("reset-password: exit status %d, %s%s, want a link", code, out, errors)
		}
		token := app.NewSecret(strings.TrimSpace(link))
		persistencetest.Must(t, db.ResetPassword(t.Context(), time.Now(), app.Actor{}, token, "new"))
		if login, err := db.LoginOf(t.Context(), c.user.ID); err != nil || login.PasswordHash != "new" ||
			login.Disabled {
			t.Errorf("user after the reset: got %+v, %v", login, err)
		}
	}
	for _, args := range [][]string{
		{"disable-user", "--email", "nobody@example.com"}, {"reset-password", "--email", "nobody@example.com"},
		{"enable-user", "--email", "nobody@example.com"}, {"end-sessions"},
	} {
		if code, out, errors := admin(args...); code != 1 || out != "" || errors == "" {
			t.Errorf("%q: exit status %d, %s%s, want 1", args, code, out, errors)
		}
	}
	if code, _, _ := admin("disable-user", "root@example.com"); code != 2 {
		t.Errorf("an argument instead of a flag: exit status %d, want 2", code)
	}
	for _, action := range []app.AuditAction{app.AuditSessionEnded, app.AuditUserDisabled, app.AuditUserEnabled,
		app.AuditPasswordResetIssued, app.AuditPasswordReset} {
		entries, _, err := db.AuditTrail(t.Context(), r.Stores[0],
			identity.AuditFilter{Action: action}, persistence.Cursor{}, app.PageLimit{Rows: 10, Bytes: app.MaxEvent})
		persistencetest.Must(t, err)
		platform, err := db.PlatformAuditTrail(t.Context(), identity.AuditFilter{Action: action},
			persistence.Cursor{}, 10)
		persistencetest.Must(t, err)
		operator := 2 // the platform's trail has the operator's actions on every user
		if action == app.AuditPasswordReset {
			operator = 1 // by the platform administrator
		}
		if len(entries) != 1 || len(platform) != operator {
			t.Errorf("%s: got %d entries of the store and %d of the platform, want 1 and %d", action, len(entries),
				len(platform), operator)
		}
	}
}

func TestCreatePlatformAdmin(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	create := func(stdin string, args ...string) (int, string, string) {
		t.Helper()
		return comanda(t, db, stdin, append([]string{"admin", "create-platform-admin"}, args...)...)
	}
	code, out, errors := create("correct horse\n", "--email", "root@example.com", "--name", "Root")
	if code != 0 || !strings.Contains(out, "root@example.com") || !strings.Contains(out, "second factor") ||
		strings.Contains(out+errors, "horse") {
		t.Errorf("exit status %d, output %s%s, want 0, the email, the second factor and no password", code, out, errors)
	}
	login, err := db.LoginByEmail(t.Context(), "root@example.com")
	if err != nil || login.User.PlatformRole == nil {
		t.Errorf("created user %+v, %v, want a platform role", login.User, err)
	}
	trail, err := db.PlatformAuditTrail(t.Context(),
		identity.AuditFilter{Action: app.AuditPlatformAdminCreated}, persistence.Cursor{}, 10)
	if err != nil || len(trail) != 1 || trail[0].Target != string(login.User.ID) || trail[0].Actor.Realm != "" {
		t.Errorf("platform's trail: got %+v, %v, want one entry about %s", trail, err, login.User.ID)
	}
	adminA := []string{"--email", "a@example.com", "--name", "A"}
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		"email taken":                {"correct horse", []string{"--email", "root@example.com", "--name", "Root"}, 1},
		"weak password":              {"horse\n", adminA, 1},
		"no password":                {"", adminA, 1},
		"password of 5 MiB":          {strings.Repeat("horse", 1<<20), adminA, 1},
		"password as flag":           {"", slices.Concat(adminA, []string{"--password", "correct horse"}), 2},
		"password as argument":       {"", slices.Concat(adminA, []string{"correct horse"}), 2},
		"no email":                   {"correct horse", []string{"--name", "A"}, 1},
		"no arguments":               {"correct horse", nil, 2},
		"1,025 bytes and a new line": {strings.Repeat("x", 1025) + "\r\n", adminA, 1},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errors := create(c.stdin, c.args...)
			if code != c.code || out != "" || strings.Contains(errors, "horse") {
				t.Errorf("%s: exit status %d, output %q, errors %q, want %d, no output and no password",
					name, code, out, errors, c.code)
			}
			if _, err := db.LoginByEmail(t.Context(), "a@example.com"); app.CodeOf(err) != app.CodeNotFound {
				t.Fatalf("%s: lookup of a@example.com: %v, want %s", name, err, app.CodeNotFound)
			}
		})
	}
	for email, newline := range map[string]string{
		"lf@example.com": "\n", "crlf@example.com": "\r\n", "none@example.com": "",
	} {
		longest := strings.Repeat("correct horse ", 73) + "ok"
		if code, _, errors := create(longest+newline, "--email", email, "--name", "A"); code != 0 {
			t.Errorf("password of 1,024 bytes followed by %q: exit status %d, %s, want 0", newline, code, errors)
		}
	}
}

const oldKey, newKey = "test key test key test key test key ", "a newer key of at least 32 bytes in all"

// reseal runs the command with keys.
func reseal(t *testing.T, db *persistencetest.Database, keys string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	environ := map[string]string{
		"DATABASE_URL": db.URL, "COMANDA_SYSTEM_DATABASE_URL": db.SystemURL, "COMANDA_SECRET_KEYS": keys,
	}
	code = run(t.Context(), []string{"admin", "reseal"}, environ, os.Stdin, &out, &errors)
	return code, out.String(), errors.String()
}

func keyID(t *testing.T, key string) string {
	t.Helper()
	ring, err := app.NewKeyring(app.NewSecret(key))
	if err != nil {
		t.Fatal(err)
	}
	return ring.Sealer().KeyIDs()[0]
}

func TestReseal(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := persistencetest.Open(t, db, "one.example")
	var ids []string
	for range 3 {
		s, err := db.CreateSubscription(t.Context(), time.Now(), r.Stores[0], app.Actor{}, app.NewSubscription{
			URL: "https://hooks.example.com/", Events: []app.EventType{app.EventOrderCreated},
			Secret: app.NewSecret(strings.Repeat("secret", 6)),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(s.ID))
	}
	code, out, errors := reseal(t, db, newKey)
	for _, id := range ids {
		if want := "subscriptions.secret of " + id; code != 1 || !strings.Contains(out, want) {
			t.Errorf("without the old key: exit status %d, output %s%s, want 1 and %q", code, out, errors, want)
		}
	}
	if _, err := db.System().DB.ExecContext(t.Context(), `UPDATE subscriptions SET secret = 'ffffffff broken'
		WHERE id = $1`, ids[1]); err != nil {
		t.Fatal(err)
	}
	removable := "key " + keyID(t, oldKey) + ": can be removed if " + keyID(t, newKey) +
		" is the first key of all processes"
	code, out, errors = reseal(t, db, newKey+","+oldKey)
	if code != 1 || !strings.Contains(out, "sealed 2 values") || !strings.Contains(out, removable) ||
		!strings.Contains(out, "subscriptions.secret of "+ids[1]) {
		t.Errorf("with a broken value: exit status %d, output %s%s, want 1, 2 values and %q", code, out, errors,
			removable)
	}
	if _, err := db.System().DB.ExecContext(t.Context(), `UPDATE subscriptions SET secret = '' WHERE id = $1`,
		ids[1]); err != nil {
		t.Fatal(err)
	}
	code, out, errors = reseal(t, db, newKey+","+oldKey)
	if code != 0 || !strings.Contains(out, "sealed 0 values") || !strings.Contains(out, removable) {
		t.Errorf("repeated: exit status %d, output %s%s, want 0, 0 values and %q", code, out, errors, removable)
	}
	if code, out, errors = reseal(t, db, newKey); code != 0 {
		t.Errorf("without the removed key: exit status %d, output %s%s, want 0", code, out, errors)
	}
	if code, out, errors = reseal(t, db, "short"); code != 1 || !strings.Contains(errors, "COMANDA_SECRET_KEYS") {
		t.Errorf("short key: exit status %d, output %s%s, want 1", code, out, errors)
	}
}

func TestResetOTP(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := persistencetest.Open(t, db, "one.example")
	reset := func(args ...string) (int, string, string) {
		t.Helper()
		return comanda(t, db, "", append([]string{"admin", "reset-otp"}, args...)...)
	}
	for _, args := range [][]string{{"--email", "nobody@example.com"}, {"--email", r.Owner.Email}, {}} {
		if code, out, _ := reset(args...); code != 1 || out != "" {
			t.Errorf("%v: exit status %d, output %s, want 1 and none", args, code, out)
		}
	}
	if _, err := db.System().DB.ExecContext(t.Context(), `UPDATE users SET otp_secret = 'x', otp_enabled_at = now()
		WHERE id = $1`, r.Owner.ID); err != nil {
		t.Fatal(err)
	}
	if code, out, errors := reset("--email", strings.ToUpper(r.Owner.Email)); code != 0 {
		t.Errorf("exit status %d, output %s%s, want 0", code, out, errors)
	}
	var on bool
	var entries, ofPlatform int
	if err := db.System().DB.QueryRowContext(t.Context(), `SELECT otp_enabled_at IS NOT NULL,
			(SELECT count(*) FROM audit WHERE action = 'otp.reset' AND target = users.id),
			(SELECT count(*) FROM platform_audit WHERE action = 'otp.reset' AND target = users.id)
		FROM users WHERE id = $1`, r.Owner.ID).Scan(&on, &entries, &ofPlatform); err != nil || on ||
		entries != len(r.Stores) || ofPlatform != 1 {
		t.Errorf("on: got %v, %d audit entries, %d of the platform, %v, want false, %d and 1", on, entries, ofPlatform,
			err, len(r.Stores))
	}
}
