package e2e

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app/freeport"
)

// TestGoClient uses the Go client with the service: an owner with a session creates an API key, with which the program
// of docs/integrate.md reads the menu, places and pays an order, and verifies the event of the payment.
func TestGoClient(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1s,1s,1s,1s,1s"})
	r := newRestaurant(t)
	client, err := comanda.New(worldOf(t).api, comanda.Config{HTTP: worldOf(t).client})
	must(t, err)
	_, err = client.Login(t.Context(), comanda.LoginRequest{Email: r.email, Password: ownerPassword})
	must(t, err)
	for range 2 { // the second refresh needs the refresh token of the first
		must(t, client.Refresh(t.Context()))
	}
	key, err := client.CreateAPIKey(t.Context(), comanda.CreateAPIKeyRequest{
		Name: "integration", Scopes: []comanda.Scope{
			comanda.ScopeReadProducts, comanda.ScopeWriteOrders, comanda.ScopeWebhooksManage,
		},
	})
	must(t, err)

	output, stop := runDocumented(t, key.Key)
	var paid string
	select {
	case paid = <-output:
	case <-time.After(waitLimit):
		t.Fatalf("the program of docs/integrate.md has received no event within %s", waitLimit)
	}
	orders, err := client.ListOrders(t.Context(), comanda.ListOrdersParams{})
	must(t, err)
	if len(orders.Data) != 1 {
		t.Fatalf("got %d orders, want one", len(orders.Data))
	}
	order := orders.Data[0]
	if paid != "order "+order.OrderID+" is paid" || order.TotalMinor != 1900 || order.PaidMinor != order.TotalMinor {
		t.Errorf("got %q and order %+v, want a paid order of 1900", paid, order)
	}

	webhooks, err := client.ListWebhooks(t.Context())
	must(t, err)
	test, err := client.TestWebhook(t.Context(), webhooks.Data[0].ID)
	must(t, err)
	if test.StatusCode != 204 {
		t.Errorf("test event: got %+v, want 204", test)
	}
	stop()
	for text := range output {
		if text != paid { // an event may be delivered several times
			t.Errorf("after a test event: got %q, want no line", text)
		}
	}

	change := comanda.ChangeOrderStatusRequest{Status: comanda.OrderStatusConfirmed}
	_, err = client.UpdateOrderStatus(t.Context(), order.ID, change, comanda.IfMatch(order.Version+1))
	if refused, ok := errors.AsType[*comanda.Error](err); !ok || refused.Code != comanda.ErrorCodeVersionMismatch ||
		refused.StatusCode != 409 || !strings.HasPrefix(refused.RequestID, "req_") {
		t.Errorf("change of another version: got %v, want VERSION_MISMATCH", err)
	}
	_, err = client.UpdateOrderStatus(t.Context(), order.ID, change, comanda.IfMatch(order.Version))
	must(t, err)
}

// runDocumented runs the Go program of docs/integrate.md#use-the-api behind a proxy that terminates TLS. It returns the
// lines of the program's output, and a function that ends the program.
func runDocumented(t *testing.T, key string) (lines <-chan string, stop func()) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/integrate.md")
	must(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Use the API\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, code, _ := strings.Cut(section, "\n```go\n")
	code, _, ok := strings.Cut(code, "\n```\n")
	if !ok {
		t.Fatal("docs/integrate.md has no program in Go")
	}
	source := filepath.Join(t.TempDir(), "main.go")
	must(t, os.WriteFile(source, []byte(code+"\n"), 0o600))
	binary := strings.TrimSuffix(source, ".go") + ".exe"
	// Built in this directory, so that the program imports the packages of this repository.
	if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	address, err := freeport.Address()
	must(t, err)
	proxy := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address}))
	proxy.TLS = &tls.Config{Certificates: []tls.Certificate{worldOf(t).tls}}
	proxy.StartTLS()
	t.Cleanup(proxy.Close)

	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), "COMANDA_URL="+worldOf(t).api, "COMANDA_API_KEY="+key, "WEBHOOK_SECRET="+hookSecret,
		"WEBHOOK_URL="+proxy.URL+"/hook", "PORT="+address[strings.LastIndex(address, ":")+1:],
		"SSL_CERT_FILE="+worldOf(t).infra.Ready.CAFile)
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	read := make(chan string, 100)
	go func() {
		defer close(read)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			read <- scanner.Text()
		}
	}()
	stop = func() { cmd.Process.Kill() }
	t.Cleanup(func() {
		stop()
		cmd.Wait()
	})
	return read, stop
}
