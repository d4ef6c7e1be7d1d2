package flags

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]Flags{
		"":                             {Data: ".dev", Port: 8443},
		"--data x --port 0 --no-demo":  {Data: "x", NoDemo: true},
		"--infra --quiet --port 65526": {Data: ".dev", Port: 65526, Infra: true, Quiet: true},
	} {
		if got, err := Parse(strings.Fields(args), io.Discard); err != nil || got != want {
			t.Errorf("%q: got %+v and %v, want %+v", args, got, err, want)
		}
	}
	for _, args := range []string{"--port 65527", "--port -1", "--port x", "--data=", "serve", "--unknown"} {
		if got, err := Parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q is accepted: %+v", args, got)
		}
	}
	if _, err := Parse([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}
