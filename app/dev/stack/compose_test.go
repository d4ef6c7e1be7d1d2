package main

import (
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app/boot"
	"github.com/comanda-dev/comanda/app/dev/temporaldev"
	"github.com/comanda-dev/comanda/persistence"
)

// composeSettings are those that comanda init writes.
func composeSettings() map[string]string {
	return map[string]string{
		"COMANDA_BASE_URL": "https://orders.example.com", "COMANDA_SECRET_KEYS": strings.Repeat("0123456789abcdef", 4),
		"COMANDA_SERVE_PASSWORD": "serve", "COMANDA_SERVE_SYSTEM_PASSWORD": "serve_system",
		"COMANDA_WORKER_PASSWORD": "worker", "COMANDA_WORKER_SYSTEM_PASSWORD": "worker_system",
		"COMANDA_OWNER_PASSWORD": "owner", "TEMPORAL_DB_PASSWORD": "temporal", "POSTGRES_PASSWORD": "postgres",
	}
}

// composed returns docker-compose.yml with these settings.
func composed(t *testing.T, settings map[string]string) (*types.Project, error) {
	t.Helper()
	var pairs []string
	for name, value := range settings {
		pairs = append(pairs, name+"="+value)
	}
	options, err := cli.NewProjectOptions([]string{"../../../docker-compose.yml"}, cli.WithEnv(pairs))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

func loadCompose(t *testing.T) *types.Project {
	t.Helper()
	project, err := composed(t, composeSettings())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// Each setting without a default must be given: the error names it.
func TestComposeNamesMissingSettings(t *testing.T) {
	t.Parallel()
	for name := range composeSettings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := composeSettings()
			delete(settings, name)
			if _, err := composed(t, settings); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want an error that names %s", err, name)
			}
		})
	}
}

// Several services that build one tag fail in a current Docker, so exactly one has a build.
func TestComposeServices(t *testing.T) {
	t.Parallel()
	published := map[string][]string{}
	var builds []string
	for name, service := range loadCompose(t).Services {
		if service.Build != nil {
			builds = append(builds, name)
		}
		for _, port := range service.Ports {
			published[name] = append(published[name], port.HostIP+":"+port.Published)
		}
		job := strings.HasPrefix(service.Restart, "on-failure")
		if (service.HealthCheck == nil) != job {
			t.Errorf("%s: health check %v, restart %s; want a check for services and none for jobs",
				name, service.HealthCheck, service.Restart)
		}
		if name != "postgres" && !cmp.Equal(service.CapDrop, []string{"ALL"}) {
			t.Errorf("%s: drops the capabilities %v, want ALL", name, service.CapDrop)
		}
	}
	if diff := cmp.Diff([]string{"serve"}, builds); diff != "" {
		t.Errorf("services with a build (-want +got):\n%s", diff)
	}
	want := map[string][]string{"serve": {":8443"}, "temporal-ui": {"127.0.0.1:8233"}}
	if diff := cmp.Diff(want, published); diff != "" {
		t.Errorf("published ports (-want +got):\n%s", diff)
	}
	if network := loadCompose(t).Networks["backend"]; !network.Internal {
		t.Error("the network backend is not internal")
	}
}

// The images of Temporal have the versions with which the tests run.
func TestComposeVersions(t *testing.T) {
	t.Parallel()
	versions := map[string]string{}
	for _, module := range []string{"go.temporal.io/server", "github.com/temporalio/ui-server/v2"} {
		versions[module] = strings.TrimPrefix(strings.TrimSpace(goList(t, "{{.Version}}", module)), "v")
	}
	services := loadCompose(t).Services
	for service, want := range map[string]string{
		"temporal":           "temporalio/server:" + versions["go.temporal.io/server"],
		"temporal-schema":    "temporalio/admin-tools:" + versions["go.temporal.io/server"],
		"temporal-namespace": "temporalio/admin-tools:" + versions["go.temporal.io/server"],
		"temporal-ui":        "temporalio/ui:" + versions["github.com/temporalio/ui-server/v2"],
	} {
		if got := services[service].Image; got != want {
			t.Errorf("%s: image %s, want %s", service, got, want)
		}
	}
	want := types.ShellCommand{"postgres", "-c", "max_connections=300"}
	if diff := cmp.Diff(want, services["postgres"].Command); diff != "" {
		t.Errorf("command of postgres (-want +got):\n%s", diff)
	}
}

// The image of Temporal's server reads exactly these variables of its configuration template.
func TestComposeTemporalVariables(t *testing.T) {
	t.Parallel()
	dir := strings.TrimSpace(goList(t, "{{.Dir}}", "go.temporal.io/server"))
	template, err := os.ReadFile(filepath.Join(dir, "docker", "config_template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range loadCompose(t).Services["temporal"].Environment {
		if !regexp.MustCompile(`\.Env\.` + name + `\b`).Match(template) {
			t.Errorf("%s: the server's configuration does not use it", name)
		}
	}
}

// Comanda's processes accept the variables that they get.
func TestComposeEnvironment(t *testing.T) {
	t.Parallel()
	services := loadCompose(t).Services
	environ := func(service string) map[string]string {
		values := map[string]string{}
		for name, value := range services[service].Environment {
			values[name] = *value
		}
		return values
	}
	for _, service := range []string{"migrate", "serve", "worker"} {
		if err := boot.CheckVariables(environ(service)); err != nil {
			t.Errorf("%s: %v", service, err)
		}
	}
	if _, err := boot.Load(environ("worker"), boot.Worker); err != nil {
		t.Errorf("worker: %v", err)
	}
	api := environ("serve")
	delete(api, "COMANDA_TLS_CERT") // the files are not there
	delete(api, "COMANDA_TLS_KEY")
	api["COMANDA_TRUSTED_PROXIES"] = "127.0.0.1"
	if _, err := boot.Load(api, boot.API); err != nil {
		t.Errorf("serve: %v", err)
	}
}

// A variable of `environment` takes precedence over comanda.env, also if it is empty. Therefore only settings of .env
// are there: those that comanda init writes, and those that the file names in its first lines.
func TestComposeLeavesSettingsToComandaEnv(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(file), "\nname:")
	for _, optional := range regexp.MustCompile(`\$\{(\w+):?-([^}]*)\}`).FindAllStringSubmatch(string(file), -1) {
		name, preset := optional[1], optional[2]
		if name != "COMANDA_IMAGE" && (preset == "" || !strings.Contains(head, "# "+name+" can be in .env")) {
			t.Errorf("%s with default %q: got a setting of .env, want one of comanda.env", name, preset)
		}
	}
}

// The secrets of an installation stay out of the build context, and so out of the image's layers.
func TestComposeBuildContext(t *testing.T) {
	t.Parallel()
	ignored, err := os.ReadFile("../../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".env", "comanda.env", "certs"} {
		if !strings.Contains("\n"+string(ignored), "\n"+name+"\n") {
			t.Errorf("%s is not in .dockerignore", name)
		}
	}
}

// deploy/postgres.sh prepares an empty server so that the migrations, Comanda's processes and Temporal work without a
// superuser. The health check fails before.
func TestComposePostgres(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	admin, err := url.Parse(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := admin.User.Password()
	// PGHOSTADDR takes precedence over the host name of the health check.
	environ := append(os.Environ(), "PATH="+psqlPath(t), "PGHOSTADDR="+admin.Hostname(), "PGPORT="+admin.Port(),
		"PGPASSWORD="+password, "POSTGRES_USER="+admin.User.Username())
	for name, value := range composeSettings() {
		environ = append(environ, name+"="+value)
	}
	sh := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "sh", args...)
		command.Env = environ
		output, err := command.CombinedOutput()
		return string(output), err
	}
	check := loadCompose(t).Services["postgres"].HealthCheck.Test
	if check[0] != "CMD-SHELL" {
		t.Fatalf("health check of postgres: %v, want a shell command", check)
	}
	if output, err := sh("-c", check[1]); err == nil || !strings.Contains(output, `user "comanda_serve"`) {
		t.Errorf("health check of an empty server: got %v, want an error that names the role: %s", err, output)
	}
	if output, err := sh("../../../deploy/postgres.sh"); err != nil {
		t.Fatalf("postgres.sh: %v\n%s", err, output)
	}
	if output, err := sh("-c", check[1]); err != nil {
		t.Errorf("health check: %v\n%s", err, output)
	}
	as := func(role, password, database string) string {
		u := *admin
		u.User, u.Path = url.UserPassword(role, password), "/"+database
		return u.String()
	}
	if err := boot.Migrate(t.Context(), as("comanda_owner", "owner", "comanda"), io.Discard); err != nil {
		t.Fatalf("migrate up: %v", err)
	}
	for _, part := range []string{"serve", "worker"} {
		of := func(variable string) string { // the container's URL, with the server of this test
			u, err := url.Parse(*loadCompose(t).Services[part].Environment[variable])
			if err != nil {
				t.Fatal(err)
			}
			password, _ := u.User.Password()
			return as(u.User.Username(), password, "comanda")
		}
		acceptLogins(t, of("DATABASE_URL"), of("COMANDA_SYSTEM_DATABASE_URL"))
	}
	reserved, err := reservePorts(t.Context(), 0, frontendPort, historyPort, matchingPort, workerPort)
	if err != nil {
		t.Fatal(err)
	}
	reserved.release()
	temporal, err := temporaldev.Start(t.Context(), temporaldev.Options{
		StoreURL:      as("temporal", "temporal", "temporal"),
		VisibilityURL: as("temporal", "temporal", "temporal_visibility"),
		Ports: temporaldev.Ports{
			Frontend: reserved.numbers[frontendPort], History: reserved.numbers[historyPort],
			Matching: reserved.numbers[matchingPort], Worker: reserved.numbers[workerPort],
		},
		Namespace: "default", Retention: 72 * time.Hour, Log: io.Discard,
	})
	if err != nil {
		t.Fatalf("Temporal: %v", err)
	}
	if err := temporal.Stop(t.Context()); err != nil {
		t.Errorf("stop Temporal: %v", err)
	}
}

// acceptLogins checks that Comanda's processes accept a database and its two logins.
func acceptLogins(t *testing.T, store, system string) {
	t.Helper()
	db, err := persistence.Open(persistence.Config{URL: store, SystemURL: system})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := errors.Join(db.CheckSchema(t.Context()), db.CheckRole(t.Context())); err != nil {
		t.Errorf("as Comanda's process: %v", err)
	}
}

// goList returns the output of go list for a module of app/dev.
func goList(t *testing.T, format, module string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", format, module).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(output)
}

// psqlPath returns a PATH with psql.
func psqlPath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PATH")
	if _, err := exec.LookPath("psql"); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
	if err != nil || len(found) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("psql is not installed")
		}
		t.Skip("psql is not installed")
	}
	return filepath.Dir(found[0]) + string(os.PathListSeparator) + path
}
