package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// An invalid command line prints the usage and the reason, and help is not an error.
func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                         "invalid arguments: a command is required",
		"sevre":                    `invalid arguments: unknown command "sevre"`,
		"serve now":                "invalid arguments of serve",
		"migrate sideways":         "invalid arguments of migrate",
		"migrate up now":           "invalid arguments of migrate",
		"migrate down now":         "invalid arguments: an argument is not the value of a flag",
		"admin reset":              "invalid arguments of admin",
		"listen --htpp":            "invalid arguments: flag provided but not defined: -htpp",
		"listen now":               "invalid arguments: an argument is not the value of a flag",
		"listen --http --cert x":   "invalid arguments: pass either --http, or --cert and --key",
		"listen --http --events x": "invalid arguments: --events is for listen with an API key",
		"trigger a b":              "invalid arguments: trigger takes one type",
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(args), nil, nil, io.Discard, &stderr)
		if reason := strings.TrimPrefix(stderr.String(), usage); code != 2 || !strings.Contains(reason, want) {
			t.Errorf("comanda %s: got exit status %d and %q, want 2, the usage and %q", args, code, reason, want)
		}
	}
	for _, args := range []string{"help", "-h", "listen -h", "serve --help"} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(args), nil, nil, &stdout, &stderr)
		if code != 0 || stdout.String() != usage || stderr.Len() > 0 {
			t.Errorf("comanda %s: got exit status %d, errors %q, want 0 and the usage only", args, code, &stderr)
		}
	}
}
