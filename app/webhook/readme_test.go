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
)

// snippet returns the one block of a language in the README's section on receivers.
func snippet(t *testing.T, language string) []byte {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Receive webhooks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, code, ok := strings.Cut(section, "\n```"+language+"\n")
	code, rest, closed := strings.Cut(code, "\n```\n")
	if !ok || !closed || strings.Contains(rest, "\n```"+language+"\n") {
		t.Fatalf("the README does not have one receiver in %s", language)
	}
	return []byte(code + "\n")
}

// need skips the test where a program is missing; where everything must run it fails.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// process is a receiver of the README that runs.
type process struct {
	url    string
	exited chan error
	output bytes.Buffer // to read once it has exited
}

// start runs a receiver until the test ends, and waits until it can be reached or has
// exited.
func start(t *testing.T, command []string, secret string) *process {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().(*net.TCPAddr)
	free.Close()
	p := &process{url: "http://" + address.String() + "/hook", exited: make(chan error, 1)}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, fmt.Sprintf("PORT=%d", address.Port))
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
			if connection, err := net.Dial("tcp", address.String()); err == nil {
				connection.Close()
				return p
			}
		}
	}
}

// send makes the request that the service would make at a time, to the secret's holder.
func send(t *testing.T, url, secret string, at time.Time, change func(*http.Request)) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = activities.Headers(app.Outgoing{EventID: "evt_1", EventAt: at, Body: []byte(body), Secret: app.NewSecret(secret)}, at)
	change(r)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}

func TestReadmeReceivers(t *testing.T) {
	t.Parallel()
	for language, program := range map[string]struct {
		name string
		file string
		run  func(t *testing.T, file string) []string
	}{
		"go": {"go", "main.go", func(t *testing.T, file string) []string {
			binary := strings.TrimSuffix(file, ".go") + ".exe"
			// From here, so that the module that it imports is this one.
			if out, err := exec.Command("go", "build", "-o", binary, file).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return []string{binary}
		}},
		"js":     {"node", "receiver.mjs", func(_ *testing.T, file string) []string { return []string{"node", file} }},
		"python": {"python3", "receiver.py", func(_ *testing.T, file string) []string { return []string{"python3", file} }},
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
			for range 3 { // somebody else may have taken its port
				if len(receiver.exited) == 0 {
					break
				}
				t.Logf("it ended: %v\n%s", <-receiver.exited, &receiver.output)
				receiver = start(t, command, secret)
			}
			check(t, receiver)

			without := start(t, command, "")
			select {
			case err := <-without.exited:
				if _, failed := errors.AsType[*exec.ExitError](err); !failed {
					t.Errorf("without a secret it ended with %v", err)
				}
			default:
				t.Error("it goes without a secret")
			}
		})
	}
}

// check sends a receiver what it must take and what it must not.
func check(t *testing.T, receiver *process) {
	t.Helper()
	same := func(*http.Request) {}
	alone := func(r *http.Request) { r.Header.Del("Webhook-Signature") } // the spec's headers without the standard's
	now := time.Now()
	for _, test := range []struct {
		name   string
		secret string
		at     time.Time
		change func(*http.Request)
		want   int
	}{
		{"genuine", secret, now, same, 204},
		{"the spec's headers alone", secret, now, alone, 204},
		{"a while ago", secret, now.Add(-240 * time.Second), same, 204},
		{"soon", secret, now.Add(240 * time.Second), same, 204},
		{"stale", secret, now.Add(-360 * time.Second), same, 401},
		{"too early", secret, now.Add(360 * time.Second), same, 401},
		{"a foreign secret", other, now, same, 401},
		{"no secret", "", now, same, 401},
		{"tampered with", secret, now, func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(strings.Replace(body, "1900", "1901", 1)))
		}, 401},
		{"another timestamp", secret, now.Add(-360 * time.Second), func(r *http.Request) {
			r.Header.Set("X-Webhook-Timestamp", fmt.Sprint(now.Unix()))
		}, 401},
		{"a signature cut short", secret, now, func(r *http.Request) {
			r.Header.Set("X-Webhook-Signature", r.Header.Get("X-Webhook-Signature")[:62])
			alone(r)
		}, 401},
		{"a signature in other letters", secret, now, func(r *http.Request) {
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
		{"broken off", secret, now, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))+1
		}, 0},
		{"genuine after all that", secret, now, same, 204},
	} {
		status, err := send(t, receiver.url, test.secret, test.at, test.change)
		cut := err != nil && (test.want == 413 || test.want == 0) // hanging up is an answer, too
		if status != test.want && !cut {
			t.Errorf("%s: answered %d, %v; want %d", test.name, status, err, test.want)
		}
	}
}
