package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

const (
	webhookSecret  = "a secret of 32 characters or more"
	anotherSecret  = "another secret, with a comma in it"
	webhookPayload = `{"id":"evt_1","type":"order.created","storeId":"sto_1",` +
		`"timestamp":"2026-03-14T12:00:00.000Z","data":{"totalMinor":1900}}`
)

func writeFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// listener is a running `comanda listen`.
type listener struct {
	url  string
	stop func() (code int, stdout, stderr string) // has the effect of Ctrl-C
}

// startListen runs the command on a free port and waits until it listens.
func startListen(t *testing.T, environ map[string]string, args ...string) listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	stderr, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"listen", "--addr", "127.0.0.1:0"}, args...), environ, os.Stdin, &out, writer)
		writer.Close()
	}()
	reader := bufio.NewReader(stderr)
	first, err := reader.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSuffix(first, "; press Ctrl-C to stop\n"), "listening on ")
	if err != nil || !ok {
		cancel()
		t.Fatalf("first line of stderr: %q, %v, want the address", first, err)
	}
	return listener{address, func() (int, string, string) {
		cancel()
		rest, _ := io.ReadAll(reader)
		return <-ended, out.String(), first + string(rest)
	}}
}

// sendWebhook posts the payload, signed with the secret, and returns the status of the response.
func sendWebhook(t *testing.T, client *http.Client, url, secret string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(webhookPayload))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Unix()
	r.Header.Set("X-Webhook-Timestamp", strconv.FormatInt(at, 10))
	r.Header.Set("X-Webhook-Signature", app.Sign(app.NewSecret(secret), at, []byte(webhookPayload)))
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestListen(t *testing.T) {
	t.Parallel()
	tlsServer := httptest.NewTLSServer(nil) // provides a certificate and a client that trusts it
	t.Cleanup(tlsServer.Close)
	certificate := tlsServer.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certBlock := &pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}
	certFile := writeFile(t, "tls.crt", pem.EncodeToMemory(certBlock))
	keyFile := writeFile(t, "tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(target.Close)

	for name, test := range map[string]struct {
		environ map[string]string
		args    []string
		scheme  string
		secrets []string
		status  int
	}{
		"http": {
			map[string]string{secretVariable: webhookSecret}, []string{"--http"}, "http://", []string{webhookSecret},
			204,
		},
		"https, several secrets": {
			map[string]string{secretVariable: "and this is the first one of them, " + webhookSecret + ","},
			[]string{
				"--cert", certFile, "--key", keyFile,
				"--secret-file", writeFile(t, "secrets", []byte("\n"+anotherSecret+"\r\n")),
			},
			"https://", []string{webhookSecret, anotherSecret, "and this is the first one of them"}, 204,
		},
		"forward": {
			nil,
			[]string{
				"--http", "--json", "--forward", target.URL + "/inbox",
				"--secret-file", writeFile(t, "secrets", []byte(webhookSecret)),
			},
			"http://", []string{webhookSecret}, 202,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startListen(t, test.environ, test.args...)
			if !strings.HasPrefix(l.url, test.scheme) {
				t.Errorf("the address is %s, want scheme %s", l.url, test.scheme)
			}
			var want []int
			for _, secret := range test.secrets {
				if status := sendWebhook(t, tlsServer.Client(), l.url+"/hook", secret); status != test.status {
					t.Errorf("status %d, want %d", status, test.status)
				}
				want = append(want, test.status)
			}
			status := sendWebhook(t, tlsServer.Client(), l.url, "a secret that is configured nowhere")
			if status != http.StatusUnauthorized {
				t.Errorf("forged request: status %d, want 401", status)
			}
			code, out, errors := l.stop()
			if lines := strings.Count(out, "\n"); code != 0 || lines != len(want)+1 ||
				strings.Count(errors, "\n") != 1 {
				t.Errorf("exit status %d, output %q, errors %q, want 0, %d lines and 1 line",
					code, out, errors, len(want)+1)
			}
			for _, secret := range test.secrets {
				if strings.Contains(out+errors, secret) {
					t.Errorf("the output contains a secret: %s%s", out, errors)
				}
			}
			if !strings.Contains(out, "order.created") || !strings.Contains(out, "the signature does not match") {
				t.Errorf("output %q, want the event's type and the reason of the refusal", out)
			}
			if name == "forward" {
				var statuses []int
				for line := range strings.Lines(out) {
					var one struct{ Status int }
					if err := json.Unmarshal([]byte(line), &one); err != nil {
						t.Fatal(err)
					}
					statuses = append(statuses, one.Status)
				}
				if diff := cmp.Diff(append(want, 401), statuses); diff != "" {
					t.Errorf("statuses in the JSON lines (-want +got):\n%s", diff)
				}
			}
		})
	}

	good := map[string]string{secretVariable: webhookSecret}
	for name, test := range map[string]struct {
		environ map[string]string
		args    []string
		code    int
		message string
	}{
		"no secret":      {nil, []string{"--http"}, 1, "no secret was given"},
		"empty variable": {map[string]string{secretVariable: " , "}, []string{"--http"}, 1, "no secret was given"},
		"short secret": {
			map[string]string{secretVariable: webhookSecret + ",tooshort"}, []string{"--http"}, 1,
			"secret 2 of 2 has fewer than 32 characters",
		},
		"no secret file": {
			good, []string{"--http", "--secret-file", "/nowhere"}, 1, "--secret-file: open /nowhere",
		},
		"secret as argument":     {good, []string{"--http", webhookSecret}, 2, "usage"},
		"secret as flag":         {good, []string{"--http", "--secret", webhookSecret}, 2, "usage"},
		"no arguments":           {good, nil, 2, "set COMANDA_API_KEY to follow events"},
		"certificate only":       {good, []string{"--cert", certFile}, 2, "usage"},
		"key only":               {good, []string{"--key", keyFile}, 2, "usage"},
		"http and https":         {good, []string{"--http", "--cert", certFile, "--key", keyFile}, 2, "usage"},
		"http and certificate":   {good, []string{"--http", "--cert", certFile}, 2, "usage"},
		"swapped files":          {good, []string{"--cert", keyFile, "--key", certFile}, 1, "--cert, --key:"},
		"http on all interfaces": {good, []string{"--http", "--addr", ":0"}, 1, "is not a loopback address"},
		"invalid address":        {good, []string{"--http", "--addr", "nonsense"}, 1, "--addr:"},
		"forward to a path":      {good, []string{"--http", "--forward", "/inbox"}, 1, "--forward:"},
		"forward to a file":      {good, []string{"--http", "--forward", "file:///inbox"}, 1, "--forward:"},
		"forward with password": {
			good, []string{"--http", "--forward", "http://me:password@localhost/"}, 1, "--forward:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errors bytes.Buffer
			code := run(t.Context(), append([]string{"listen"}, test.args...), test.environ, os.Stdin, &out, &errors)
			want := test.message
			if want == "usage" {
				want = usage
			}
			if code != test.code || out.Len() > 0 || !strings.Contains(errors.String(), want) {
				t.Errorf("exit status %d, output %q, errors %q, want %d, no output and %q",
					code, &out, &errors, test.code, want)
			}
			for _, secret := range []string{webhookSecret, "tooshort", "password@"} {
				if strings.Contains(errors.String(), secret) {
					t.Errorf("the errors contain a secret: %s", &errors)
				}
			}
		})
	}
}
