//go:build unix

package localpg

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
)

// initCluster creates a database cluster. It renames the complete cluster to its final name, so that
// an interrupted start leaves no partial cluster.
func (h *home) initCluster(ctx context.Context, bin binaries, o Options) error {
	if err := h.writePassword(); err != nil {
		return err
	}
	fresh := h.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	p, err := spawn(h.command(ctx, bin.initdb(), initArgs(fresh, h.passwordFile(), o)...), o.Log)
	if err != nil {
		return fmt.Errorf("run initdb: %w", err)
	}
	if err := p.wait(); err != nil {
		return fmt.Errorf("initdb failed: %w", err)
	}
	return os.Rename(fresh, h.data())
}

// initArgs returns initdb's arguments. Regardless of the machine's locale, text is UTF-8, sorts by
// code point, and maps upper and lower case as in Unicode.
func initArgs(data, passwordFile string, o Options) []string {
	letters := "C.UTF-8"
	if runtime.GOOS != "linux" {
		letters = "en_US.UTF-8"
	}
	args := []string{
		"--pgdata=" + data, "--username=" + superuser, "--pwfile=" + passwordFile, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--lc-ctype=" + letters,
	}
	if !o.Durable {
		args = append(args, "--no-sync")
	}
	return args
}

// serverArgs returns postgres's arguments. The caller's settings override all settings except the
// address on which the server listens.
func serverArgs(h *home, port int, o Options) []string {
	settings := map[string]string{
		"max_connections":   "200",
		"timezone":          "UTC",
		"log_timezone":      "UTC",
		"logging_collector": "off",
		"log_destination":   "stderr",
		"log_line_prefix":   "%m [%p] ",
	}
	if !o.Durable {
		maps.Copy(settings, map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"})
	}
	maps.Copy(settings, o.Settings)
	maps.Copy(settings, map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(port),
		"unix_socket_directories": "",
	})
	args := []string{"-D", h.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// startFailure derives the reason for which postgres ended during its start from its last output.
func (s *Server) startFailure() error {
	log, h := s.process.tail, s.home
	switch {
	case log.contains(`lock file "postmaster.pid" already exists`):
		return fmt.Errorf("PostgreSQL's data directory %s is %w by process %d", h.data(), errInUse, h.postmaster())
	case log.contains("pre-existing shared memory block"):
		return fmt.Errorf("PostgreSQL's data directory %s is %w: end them, or retry later", h.data(), errLeftBehind)
	case log.contains("could not create any TCP/IP sockets"):
		return fmt.Errorf("port %d for PostgreSQL is taken: %w", s.port, errPortTaken)
	default:
		return fmt.Errorf("PostgreSQL did not start on %s: %s", h.data(), log.reason())
	}
}
