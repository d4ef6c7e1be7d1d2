package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app/dev/flags"
	"github.com/comanda-dev/comanda/app/dev/localca"
	"github.com/comanda-dev/comanda/app/dev/temporaldev"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"-h": 0, "--unknown": 2, "serve": 2} {
		var stderr bytes.Buffer
		if got := run(nil, []string{args}, nil, io.Discard, &stderr); got != want || stderr.Len() == 0 {
			t.Errorf("%s: exit code %d, want %d: %s", args, got, want, stderr.String())
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	o := Options{Environ: []string{
		"COMANDA_A=ours=a", "COMANDA_B=ours", "COMANDA_C=ours", "DATABASE_URL=ours", "HOME=ours",
	}}
	got := o.settings(
		map[string]string{"COMANDA_B": "decided", "DATABASE_URL": "decided"},
		map[string]string{"COMANDA_C": "default", "COMANDA_D": "default"},
	)
	want := map[string]string{
		"COMANDA_A": "ours=a", "COMANDA_B": "decided", "COMANDA_C": "ours", "COMANDA_D": "default",
		"DATABASE_URL": "decided",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The key in a file replaces the key of the data directory.
func TestSettingsInFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("ours\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := Options{Environ: []string{"COMANDA_SECRET_KEYS_FILE=" + file, "COMANDA_BASE_URL=x=y"}}.withFiles()
	want := map[string]string{"COMANDA_SECRET_KEYS": "ours", "COMANDA_BASE_URL": "x=y"}
	got := o.settings(nil, map[string]string{"COMANDA_SECRET_KEYS": "default"})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("settings: error %v (-want +got):\n%s", err, diff)
	}
	if _, err := (Options{Environ: []string{"COMANDA_SMTP_URL_FILE=" + file + "x"}}).withFiles(); err == nil {
		t.Error("a missing file is accepted")
	}
}

func TestTrustedAuthorities(t *testing.T) {
	t.Parallel()
	data := dataDir(t.TempDir())
	own, others := data.file("own.pem"), filepath.Join(t.TempDir(), "others.pem")
	for path, text := range map[string]string{own: "own\n", others: "others"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := data.trusted(own, ""); err != nil || got != own {
		t.Errorf("without another file: got %q, error %v, want %q", got, err, own)
	}
	both, err := data.trusted(own, others)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(both); err != nil || string(text) != "others\nown\n" {
		t.Errorf("with another file: got %q, error %v", text, err)
	}
	if _, err := data.trusted(own, "/missing.pem"); err == nil {
		t.Error("got no error for a missing file")
	}
}

func TestSecretIsKept(t *testing.T) {
	t.Parallel()
	data := dataDir(t.TempDir())
	first, err := data.secret("key")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := data.secret("key"); err != nil || again != first || len(first) < 32 {
		t.Errorf("first got %q, then %q, error %v; want the same secret of at least 32 characters", first, again, err)
	}
}

func TestFreePorts(t *testing.T) {
	t.Parallel()
	uses := Options{}.uses()
	p, err := reservePorts(t.Context(), 0, uses...)
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	seen := map[int]bool{0: true}
	for _, u := range uses {
		if number := p.numbers[u]; seen[number] {
			t.Errorf("port %d of %v is 0 or has another use", number, u)
		} else {
			seen[number] = true
		}
	}
	if len(uses) != int(portCount) {
		t.Errorf("%d ports, want %d", len(uses), portCount)
	}
	number := p.take(apiPort)
	if _, err := reservePorts(t.Context(), number-int(adminPort), adminPort); err != nil {
		t.Errorf("a port that was taken over cannot be reserved: %v", err)
	}
	if _, err := reservePorts(t.Context(), p.numbers[uiPort]-int(adminPort), adminPort); err == nil {
		t.Error("a reserved port can be reserved again")
	}
}

// TestSocialOfEnvironment checks that the mock does not start if the environment configures a provider.
func TestSocialOfEnvironment(t *testing.T) {
	t.Parallel()
	s, settings := &Stack{}, map[string]string{}
	o := Options{Environ: []string{"COMANDA_APPLE_ISSUER=https://apple.test"}}
	if err := s.startSocial(o, localca.Files{}, settings); err != nil || len(settings) > 0 || s.Ready.SocialURL != "" {
		t.Errorf("%v, %v, %q", err, settings, s.Ready.SocialURL)
	}
}

func TestTuning(t *testing.T) {
	t.Parallel()
	o := Options{Environ: []string{"TEMPORALDEV_VISIBILITY_POLL_RPS=2", "TEMPORALDEV_PARTITIONS="}}
	if got, err := o.tuning(); err != nil || got != (temporaldev.Tuning{VisibilityPollRPS: 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, value := range []string{"few", "-1"} {
		o := Options{Environ: []string{"TEMPORALDEV_PARTITIONS=" + value}}
		const want = "TEMPORALDEV_PARTITIONS must be a number"
		if _, err := o.tuning(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", value, err, want)
		}
	}
}

func TestUnknownVariable(t *testing.T) {
	t.Parallel()
	o := Options{Flags: flags.Flags{Data: t.TempDir()}, Environ: []string{"COMANDA_BRUST=off"}}
	_, err := Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "the nearest known name is COMANDA_BURST") {
		t.Errorf("got %v", err)
	}
}
