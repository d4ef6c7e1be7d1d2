package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Clock is the clock of a PostgreSQL server. Its offset is in a file, which libfaketime reads every second.
type Clock struct{ File string }

// ClockLibrary returns the path of libfaketime, or "" if it is not installed.
func ClockLibrary() string {
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}

// Environment returns the environment of a server with this clock. It is empty without libfaketime.
func (c Clock) Environment() []string {
	library := ClockLibrary()
	if library == "" {
		return nil
	}
	return []string{
		"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + c.File,
		"FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
}

// Set sets the offset to whole seconds.
func (c Clock) Set(offset time.Duration) error {
	text := fmt.Appendf(nil, "%+d\n", int(offset.Seconds()))
	return os.WriteFile(c.File, text, 0o644) //nolint:gosec // PostgreSQL may run as another user
}
