package webhook_test

import (
	"bytes"
	"errors"
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

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/freeport"
)

// snippet returns the code block of a language in docs/integrate.md#receive-webhooks.
func snippet(t *testing.T, language string) []byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/integrate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Receive webhooks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, code, ok := strings.Cut(section, "\n```"+language+"\n")
	code, rest, closed := strings.Cut(code, "\n```\n")
	if !ok || !closed || strings.Contains(rest, "\n```"+language+"\n") {
		t.Fatalf("the section must have exactly one code block in %s", language)
	}
	return []byte(code + "\n")
}

// need skips the test if a program is not installed. In CI, it fails the test.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// process is a running receiver of docs/integrate.md.
type process struct {
	url    string
	exited chan error
	output bytes.Buffer // may be read after the process has exited
}

// start runs a receiver until the test ends. It waits until the receiver accepts connections or has exited.
func start(t *testing.T, command []string, secret string) *process {
	t.Helper()
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{url: "http://" + address + "/hook", exited: make(chan error, 1)}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, "PORT="+port)
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		p.exited <- cmd.Wait()
		close(gone)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-gone
	})
	for tick := time.Tick(10 * time.Millisecond); ; {
		select {
		case <-gone:
			return p
		case <-tick:
			if connection, err := net.Dial("tcp", address); err == nil {
				connection.Close()
				return p
			}
		}
	}
}

// send sends the request that the service sends at a given time, with the given secret.
func send(t *testing.T, url, secret string, at time.Time, change func(*http.Request)) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	out := app.Outgoing{EventID: "evt_1", EventAt: at, Body: []byte(body), Secret: app.NewSecret(secret)}
	r.Header = activities.Headers(out, at)
	change(r)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}

func TestDocumentedReceivers(t *testing.T) {
	t.Parallel()
	for language, program := range map[string]struct {
		name string
		file string
		run  func(t *testing.T, file string) []string
	}{
		"go": {"go", "main.go", func(t *testing.T, file string) []string {
			binary := strings.TrimSuffix(file, ".go") + ".exe"
			// Built in this directory, so that the program imports this module.
			if out, err := exec.Command("go", "build", "-o", binary, file).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return []string{binary}
		}},
		"js": {"node", "receiver.mjs", func(_ *testing.T, file string) []string { return []string{"node", file} }},
		"python": {"python3", "receiver.py", func(_ *testing.T, file string) []string {
			return []string{"python3", file}
		}},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			code := snippet(t, language)
			need(t, program.name)
			file := filepath.Join(t.TempDir(), program.file)
			if err := os.WriteFile(file, code, 0o600); err != nil {
				t.Fatal(err)
			}
			command := program.run(t, file)

			receiver := start(t, command, secret)
			for range 3 { // another process may have taken the port
				if len(receiver.exited) == 0 {
					break
				}
				t.Logf("the receiver exited: %v\n%s", <-receiver.exited, &receiver.output)
				receiver = start(t, command, secret)
			}
			check(t, receiver)

			without := start(t, command, "")
			select {
			case err := <-without.exited:
				if _, failed := errors.AsType[*exec.ExitError](err); !failed {
					t.Errorf("without a secret, the receiver exited with %v, want a failure", err)
				}
			default:
				t.Error("without a secret, the receiver runs, want a failure at the start")
			}
		})
	}
}

// check sends genuine and forged requests to a receiver and checks the status of each response.
func check(t *testing.T, receiver *process) {
	t.Helper()
	same := func(*http.Request) {}
	alone := func(r *http.Request) { r.Header.Del("Webhook-Signature") } // leaves X-Webhook-Signature only
	now := time.Now()
	for _, test := range []struct {
		name   string
		secret string
		at     time.Time
		change func(*http.Request)
		want   int
	}{
		{"genuine", secret, now, same, 204},
		{"X-Webhook-Signature only", secret, now, alone, 204},
		{"240 s old", secret, now.Add(-240 * time.Second), same, 204},
		{"240 s early", secret, now.Add(240 * time.Second), same, 204},
		{"360 s old", secret, now.Add(-360 * time.Second), same, 401},
		{"360 s early", secret, now.Add(360 * time.Second), same, 401},
		{"unknown secret", other, now, same, 401},
		{"empty secret", "", now, same, 401},
		{"modified body", secret, now, func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(strings.Replace(body, "1900", "1901", 1)))
		}, 401},
		{"modified timestamp", secret, now.Add(-360 * time.Second), func(r *http.Request) {
			r.Header.Set("X-Webhook-Timestamp", fmt.Sprint(now.Unix()))
		}, 401},
		{"truncated signature", secret, now, func(r *http.Request) {
			r.Header.Set("X-Webhook-Signature", r.Header.Get("X-Webhook-Signature")[:62])
			alone(r)
		}, 401},
		{"signature not in ASCII", secret, now, func(r *http.Request) {
			r.Header.Set("X-Webhook-Signature", "ключ")
			alone(r)
		}, 401},
		{"no signature", secret, now, func(r *http.Request) { r.Header = http.Header{} }, 401},
		{"no timestamp", secret, now, func(r *http.Request) {
			r.Header.Del("X-Webhook-Timestamp")
			alone(r)
		}, 401},
		{"too large", secret, now, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20+1))), 1<<20+1
		}, 413},
		{"incomplete body", secret, now, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))+1
		}, 0},
		{"genuine after invalid requests", secret, now, same, 204},
	} {
		status, err := send(t, receiver.url, test.secret, test.at, test.change)
		closed := err != nil && (test.want == 413 || test.want == 0) // the receiver may also close the connection
		if status != test.want && !closed {
			t.Errorf("%s: status %d, %v, want %d", test.name, status, err, test.want)
		}
	}
}
