package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

// TestListenAndTrigger follows the events of a sandbox with `comanda listen`, while `comanda trigger` causes events
// through another API. listen forwards each event once and in order, also those of the time during which its API was
// away, after SIGTERM and after SIGKILL.
func TestListenAndTrigger(t *testing.T) {
	t.Parallel()
	worker(t, nil)
	r := newRestaurant(t)
	key, err := r.CreateAPIKey(t.Context(), comanda.CreateAPIKeyRequest{
		Name: "tests", Mode: new(comanda.KeyModeTest),
		Scopes: []comanda.Scope{comanda.ScopeWebhooksManage, comanda.ScopeWriteOrders, comanda.ScopeWriteProducts},
	})
	must(t, err)
	trigger := func() {
		t.Helper()
		command := exec.CommandContext(t.Context(), worldOf(t).programs.Comanda, "trigger", "order.created",
			"--url", worldOf(t).api, "--ca-file", worldOf(t).infra.Ready.CAFile)
		command.Env = append(os.Environ(), "COMANDA_API_KEY="+key.Key)
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "was placed") {
			t.Fatalf("trigger: got %v, %s, want a placed order", err, out)
		}
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePorts(t, 1)))
	api := apiAt(t, address)
	h := &hook{
		respond: func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		arrived: make(chan int, 1000),
	}
	target := httptest.NewServer(h)
	t.Cleanup(target.Close)
	listen, err := worldOf(t).programs.Start(
		map[string]string{"COMANDA_WEBHOOK_SECRET": hookSecret, "COMANDA_API_KEY": key.Key},
		"listen", "--url", "https://"+address, "--ca-file", worldOf(t).infra.Ready.CAFile,
		"--forward", target.URL, "--events", "order.created")
	must(t, err)
	t.Cleanup(listen.Kill)
	noted(t, listen, "connected; waiting for events", 1)

	caused := 0
	cause := func(n int) {
		for range n {
			trigger()
			caused++
		}
	}
	forwarded := func() {
		t.Helper()
		eventually(t, "listen has forwarded all events", func() error { return atLeast(caused, len(h.all(t))) })
	}
	cause(1)
	forwarded()
	for _, end := range []func(){func() { stopGracefully(t, api) }, func() { api.Kill() }} {
		breaks := strings.Count(listen.Output(), "connection lost")
		end()
		noted(t, listen, "connection lost", breaks+1)
		cause(2)
		api = apiAt(t, address)
		forwarded()
		cause(1)
		forwarded()
	}
	stopGracefully(t, listen)

	rows, err := worldOf(t).db.System().DB.QueryContext(t.Context(),
		"SELECT id FROM event_log WHERE store_id = $1 AND type = 'order.created' ORDER BY position", key.StoreID)
	must(t, err)
	defer rows.Close()
	var want, got []string
	for rows.Next() {
		var id string
		must(t, rows.Scan(&id))
		want = append(want, id)
	}
	must(t, rows.Err())
	for _, one := range h.all(t) {
		got = append(got, one.id)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != caused {
		t.Errorf("forwarded events, of %d orders (-want +got):\n%s", caused, diff)
	}
}

// noted waits until the output of a program contains a note at least n times.
func noted(t *testing.T, p *harness.Process, note string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q is noted", note), func() error {
		if got := strings.Count(p.Output(), note); got < n {
			return fmt.Errorf("%d times in %s", got, p.Output())
		}
		return nil
	})
}
