package harness

import (
	"flag"
	"os"
	"testing"
	"time"
)

// longLimit is the time a package with long tests may need on two slow processors. It is more than the ten minutes that
// `go test` allows without -timeout.
const longLimit = 15 * time.Minute

// Long skips a test that runs for a minute or more, unless the tests of its package may run for a quarter of an hour or
// -run selects tests. `go test work` therefore leaves it out, and `go test -timeout 45m work` runs it. In CI, it fails
// instead.
func Long(t *testing.T) {
	t.Helper()
	deadline, limited := t.Deadline()
	if !limited || time.Until(deadline) > longLimit || flag.Lookup("test.run").Value.String() != "" {
		return
	}
	const reason = "a long test: run it with -timeout 45m"
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
