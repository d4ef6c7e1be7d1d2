package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/comanda-dev/comanda/persistence/localpg"
)

// TestRestart starts the infrastructure, stops it, and starts the whole product with the same data.
func TestRestart(t *testing.T) {
	t.Parallel()
	data := dataDirectory(t)

	infra := launch(t, data, "--infra", "--port", "0")
	first := infra.ready(t)
	checkReadyFile(t, filepath.Join(data, readyFile))
	checkEnvironment(t, first)
	checkRoles(t, first)
	checkResponds(t, http.DefaultClient, first.TemporalUIURL)
	run := startWorkflow(t, first)
	infra.stop(t)

	everything := launch(t, data, "--port", "0")
	second := everything.ready(t)
	if got, want := password(t, second.DatabaseURL), password(t, first.DatabaseURL); got != want {
		t.Error("the password of the database changed")
	}
	if second.Env != nil || second.OwnerDatabaseURL != "" {
		t.Error("ready.json has members that belong to --infra")
	}
	checkWorkflow(t, second, run)
	checkResponds(t, http.DefaultClient, second.AdminURL+"/readyz")
	checkResponds(t, trusting(t, second.CAFile), second.APIURL+"/docs")
	if diff := cmp.Diff(first.Users, second.Users); diff != "" || len(second.Users) == 0 {
		t.Errorf("users (-first +second):\n%s", diff)
	}
	if first.APIKey != second.APIKey || second.APIKey == "" {
		t.Error("the API key changed")
	}
	const delivered = "name=Tiramisù  priceMinor=590  currency=EUR  ✓ verified"
	eventually(t, func() error { // the first start has created products, whose events are delivered now
		if out := everything.stdout.String(); !strings.Contains(out, delivered) {
			return fmt.Errorf("no event received:\n%s", out)
		}
		return nil
	})
	checkCommands(t, everything.stdout.String())
	everything.stop(t)
	checkScreen(t, everything.stdout.String(), second)
}

// checkScreen checks that the screen shows the members of ready.json, above the events.
func checkScreen(t *testing.T, out string, ready Ready) {
	t.Helper()
	screen, events, _ := strings.Cut(out, "Ctrl-C stops everything")
	for _, text := range []string{
		ready.APIURL + "/docs", ready.DashboardURL + " ", ready.TemporalUIURL, ready.ReceiverURL, ready.ReceiverSecret,
		ready.AdminURL, ready.CAFile, ready.Users[0].Email, ready.Users[0].Password, ready.APIKey, ready.SocialURL,
	} {
		if !strings.Contains(screen, text) {
			t.Errorf("the screen lacks %q:\n%s", text, screen)
		}
	}
	if strings.Contains(screen, "verified\n") || !strings.Contains(events, "verified\n") {
		t.Errorf("events do not follow the screen:\n%s", out)
	}
}

// checkCommands runs the commands of the screen in a shell.
func checkCommands(t *testing.T, screen string) {
	t.Helper()
	_, screen, _ = strings.Cut(screen, "Paste this")
	screen, _, _ = strings.Cut(screen, "Ctrl-C")
	script := ""
	for line := range strings.Lines(screen) {
		if command, ok := strings.CutPrefix(line, "  "); ok {
			script += command
		}
	}
	shell := exec.CommandContext(t.Context(), "sh", "-eu")
	shell.Stdin = strings.NewReader(script)
	out, err := shell.CombinedOutput()
	responses := strings.Split(strings.TrimSpace(string(out)), "\n")
	want := []string{
		`"status":"RECEIVED"`, `"accessToken":"`, `"id":"prd_`,
		`"email":"ada@gmail.com","firstName":"Ada","lastName":"Lovelace"`,
	}
	if err != nil || len(responses) != len(want) {
		t.Fatalf("error %v, want %d responses, got:\n%s", err, len(want), out)
	}
	for i, part := range want {
		if !strings.HasPrefix(responses[i], `{"success":true,`) || !strings.Contains(responses[i], part) {
			t.Errorf("response %d does not contain %s: %s", i+1, part, responses[i])
		}
	}
}

// checkReadyFile checks that other users cannot read the passwords.
func checkReadyFile(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
}

// checkEnvironment checks the environment of comanda serve and worker.
func checkEnvironment(t *testing.T, ready Ready) {
	t.Helper()
	listen := ready.Env["COMANDA_LISTEN"]
	want := map[string]string{
		"COMANDA_BASE_URL":            strings.Replace("https://"+listen, "127.0.0.1", "localhost", 1),
		"COMANDA_DRAIN_DELAY":         "0s",
		"COMANDA_EGRESS_ALLOW":        "127.0.0.0/8,::1/128",
		"COMANDA_EGRESS_CA_FILE":      ready.CAFile,
		"COMANDA_LISTEN":              listen,
		"COMANDA_PLATFORM_OTP":        "optional",
		"COMANDA_RETRY_SCHEDULE":      "1s,2s", // from the environment of the program
		"COMANDA_SECRET_KEYS":         ready.Env["COMANDA_SECRET_KEYS"],
		"COMANDA_TEMPORAL_UI_URL":     ready.TemporalUIURL,
		"COMANDA_SYSTEM_DATABASE_URL": ready.SystemDatabaseURL,
		"COMANDA_TLS_CERT":            filepath.Join(filepath.Dir(ready.CAFile), "tls.crt"),
		"COMANDA_TLS_KEY":             filepath.Join(filepath.Dir(ready.CAFile), "tls.key"),
		"DATABASE_URL":                ready.DatabaseURL,
		"TEMPORAL_ADDRESS":            ready.TemporalAddress,
		"TEMPORAL_NAMESPACE":          ready.TemporalNamespace,
	}
	if diff := cmp.Diff(want, ready.Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if len(ready.Env["COMANDA_SECRET_KEYS"]) < 32 {
		t.Error("the secret key is weak")
	}
	if _, err := net.ResolveTCPAddr("tcp", listen); err != nil {
		t.Error(err)
	}
}

// checkRoles checks that each login role can become the role of its pools, and has no other privileges.
func checkRoles(t *testing.T, ready Ready) {
	t.Helper()
	for login, own := range map[string]string{ready.DatabaseURL: appRole, ready.SystemDatabaseURL: systemRole} {
		conn := connect(t, login)
		if _, err := conn.Exec(t.Context(), "SELECT FROM stores"); err == nil {
			t.Errorf("the login of %s itself reads tables", own)
		}
		for _, role := range []string{appRole, systemRole, ownerRole} {
			_, err := conn.Exec(t.Context(), "RESET ROLE; SET ROLE "+role+"; SELECT FROM stores")
			if (err == nil) != (role == own) {
				t.Errorf("the login of %s as %s: got error %v, want only its own role", own, role, err)
			}
		}
	}
}

// checkResponds checks that a URL responds with 200.
func checkResponds(t *testing.T, c *http.Client, url string) {
	t.Helper()
	response, err := c.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("%s responds with %s, want 200", url, response.Status)
	}
}

// trusting returns a client that trusts only the certificate authority in a file.
func trusting(t *testing.T, caFile string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

func dialTemporal(t *testing.T, ready Ready) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: ready.TemporalAddress, Namespace: ready.TemporalNamespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var testAttribute = temporal.NewSearchAttributeKeyKeyword("ComandaDevTest")

// startWorkflow registers a search attribute and starts a workflow with it, on a task queue without workers.
func startWorkflow(t *testing.T, ready Ready) client.WorkflowRun {
	t.Helper()
	c := dialTemporal(t, ready)
	_, err := c.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
		Namespace:        ready.TemporalNamespace,
		SearchAttributes: map[string]enums.IndexedValueType{testAttribute.GetName(): enums.INDEXED_VALUE_TYPE_KEYWORD},
	})
	if err != nil {
		t.Fatal(err)
	}
	var run client.WorkflowRun
	eventually(t, func() error { // a new attribute can be used after a second or two
		run, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: "survivor", TaskQueue: "without workers",
			TypedSearchAttributes: temporal.NewSearchAttributes(testAttribute.ValueSet("here")),
		}, "Workflow")
		return err
	})
	return run
}

// checkWorkflow checks that a workflow is still open and is found by its search attribute.
func checkWorkflow(t *testing.T, ready Ready, run client.WorkflowRun) {
	t.Helper()
	c := dialTemporal(t, ready)
	description, err := c.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
	if err != nil {
		t.Fatal(err)
	}
	if status := description.WorkflowExecutionInfo.Status; status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("the workflow is %v", status)
	}
	eventually(t, func() error {
		request := &workflowservice.CountWorkflowExecutionsRequest{Query: testAttribute.GetName() + ` = "here"`}
		count, err := c.CountWorkflow(t.Context(), request)
		if err == nil && count.Count != 1 {
			err = fmt.Errorf("%d workflows found", count.Count)
		}
		return err
	})
}

// eventually retries until there is no error.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	deadline := time.After(90 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// password returns the password in a URL.
func password(t *testing.T, url string) string {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return config.Password
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	launch(t, dataDirectory(t), "--infra", "--port", fmt.Sprint(taken-int(frontendPort))).
		wantFailure(t, fmt.Sprintf("port %d for Temporal is in use", taken), "--port")
}

func TestDataDirectoryInUse(t *testing.T) {
	t.Parallel()
	data := dataDirectory(t)
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := localpg.TakeLock(t.Context(), data, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ready := filepath.Join(data, readyFile)
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	launch(t, data, "--port", "0").wantFailure(t, data, fmt.Sprintf("in use by process %d", os.Getpid()))
	if _, err := os.Stat(ready); err != nil {
		t.Errorf("the ready.json of the other run was removed: %v", err)
	}
}

func TestBrokenDataDirectory(t *testing.T) {
	t.Parallel()
	data := dataDirectory(t)
	cluster := filepath.Join(data, "postgres", "data")
	if err := os.MkdirAll(cluster, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, readyFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	launch(t, data, "--port", "0").wantFailure(t, "broken", cluster)
	if _, err := os.Stat(filepath.Join(data, readyFile)); !os.IsNotExist(err) {
		t.Errorf("the ready.json of the earlier run still exists: %v", err)
	}
}
