package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/comanda-dev/comanda/app/boot"
	"github.com/comanda-dev/comanda/app/dev/flags"
	"github.com/comanda-dev/comanda/app/dev/temporaldev"
)

// Options selects the parts to start and their settings.
type Options struct {
	flags.Flags

	// Environ are environment variables, as from os.Environ.
	Environ []string
	// Out receives the lines of the webhook receiver; nil discards them.
	Out io.Writer
	// Notice receives a line if the start waits for an earlier, killed run to end; nil discards it.
	Notice io.Writer
}

// env returns an environment variable, or "" if it is not set.
func (o Options) env(name string) string {
	for _, variable := range o.Environ {
		if key, value, _ := strings.Cut(variable, "="); key == name {
			return value
		}
	}
	return ""
}

// Environment variables that tune the Temporal server, see temporaldev.Tuning. The benchmark sets them.
const (
	visibilityPollRPS = "TEMPORALDEV_VISIBILITY_POLL_RPS"
	partitions        = "TEMPORALDEV_PARTITIONS"
)

// tuning reads the variables that tune the Temporal server.
func (o Options) tuning() (tuning temporaldev.Tuning, err error) {
	for name, value := range map[string]*int{
		visibilityPollRPS: &tuning.VisibilityPollRPS,
		partitions:        &tuning.Partitions,
	} {
		text := o.env(name)
		if text == "" {
			continue
		}
		if *value, err = strconv.Atoi(text); err != nil || *value < 0 {
			return tuning, fmt.Errorf("%s must be a number of at least 0, not %q", name, text)
		}
	}
	return tuning, nil
}

// sets reports whether the environment has a variable whose name begins with a prefix.
func (o Options) sets(prefix string) bool {
	return slices.ContainsFunc(o.Environ, func(variable string) bool { return strings.HasPrefix(variable, prefix) })
}

// withFiles returns the options with the values of the files that variables such as COMANDA_SECRET_KEYS_FILE name.
func (o Options) withFiles() (Options, error) {
	environ := map[string]string{}
	for _, variable := range o.Environ {
		name, value, _ := strings.Cut(variable, "=")
		environ[name] = value
	}
	environ, err := boot.ReadFiles(environ)
	o.Environ = nil
	for name, value := range environ {
		o.Environ = append(o.Environ, name+"="+value)
	}
	return o, err
}

// settings returns the environment of the product. The caller's COMANDA_ variables override defaults, and decided
// overrides both.
func (o Options) settings(decided, defaults map[string]string) map[string]string {
	settings := map[string]string{}
	for name, value := range defaults {
		settings[name] = value
	}
	for _, variable := range o.Environ {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "COMANDA_") {
			settings[name] = value
		}
	}
	for name, value := range decided {
		settings[name] = value
	}
	return settings
}
