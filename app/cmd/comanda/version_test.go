package main

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	t.Parallel()
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	platform := []debug.BuildSetting{setting("GOOS", "linux"), setting("GOARCH", "arm64")}
	commit := append([]debug.BuildSetting{
		setting("vcs.revision", "4f2a"), setting("vcs.time", "2026-11-22T09:30:00Z"), setting("vcs.modified", "false"),
	}, platform...)
	for name, test := range map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		"a release": {"v1.2.3", commit,
			"comanda v1.2.3\ncommit 4f2a\ndate 2026-11-22T09:30:00Z\ngo1.26.8 linux/arm64\n"},
		"a changed checkout": {
			"(devel)", append([]debug.BuildSetting{setting("vcs.modified", "true")}, commit[:2]...),
			"comanda (devel)\ncommit 4f2a, with changes\ndate 2026-11-22T09:30:00Z\ngo1.26.8 /\n",
		},
		"outside of a checkout": {"", platform, "comanda devel\ngo1.26.8 linux/arm64\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: test.version}, Settings: test.settings}
			if got := describeBuild(build); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"version"}, nil, nil, &stdout, &stderr); status != 0 ||
		!strings.HasPrefix(stdout.String(), "comanda ") {
		t.Errorf("got status %d, %q and %q, want 0 and the version", status, stdout.String(), stderr.String())
	}
}
