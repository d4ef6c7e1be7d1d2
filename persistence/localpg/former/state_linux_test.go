package former

import (
	"os"
	"strings"
	"testing"
)

func TestParseState(t *testing.T) {
	t.Parallel()
	const after = " 1 1 0 -1 %F 0 0 0 0 0 0 0 0 20 0 1 0 100 1000 10 1 1 1 1 1 1 %S 0 0 0\n"
	for stat, want := range map[string]State{
		"7 (postgres) S 1": Running, // truncated
		"7 (postgres) S 1" + fill(after, "4194560", "0"):                  Running,
		"7 (postgres) S 1" + fill(after, "4194560", "8192"):               Running, // another signal
		"7 (postgres) D 1" + fill(after, "4194560", "256"):                Ending,
		"7 (postgres) R 1" + fill(after, "4194564", "0"):                  Ending,
		"7 (postgres) Z 1" + fill(after, "4194564", "0"):                  Gone,
		"7 (a) Z 1 (b) S 1" + fill(after, "4194560", "0"):                 Running,
		"7 (post) gres (checkpointer)) X 1" + fill(after, "4194564", "0"): Gone,
	} {
		t.Run(stat, func(t *testing.T) {
			if got := parseState(stat); got != want {
				t.Errorf("parseState(%q): got %v, want %v", stat, got, want)
			}
		})
	}
}

func fill(line, flags, signals string) string {
	return strings.NewReplacer("%F", flags, "%S", signals).Replace(line)
}

func TestWorksIn(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dir  string
		want bool
	}{{dir, true}, {t.TempDir(), false}} {
		if got := WorksIn(os.Getpid(), test.dir); got != test.want {
			t.Errorf("WorksIn(this process, %s): got %v, want %v", test.dir, got, test.want)
		}
	}
}
