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

// initCluster makes a new database cluster. It appears under its name only when it is whole, so that an interrupted
// start leaves nothing that looks like one.
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

// initArgs are initdb's arguments. Text is UTF-8, sorts by code point and has its letters' cases from Unicode,
// whatever the machine's locale is.
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

// serverArgs are postgres's arguments. The caller's settings override all but where it listens.
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

// startFailure explains why postgres ended while starting, from what it wrote last.
func (s *Server) startFailure() error {
	log, h := s.process.tail, s.home
	switch {
	case log.contains(`lock file "postmaster.pid" already exists`):
		pid, _ := h.postmaster()
		return fmt.Errorf("PostgreSQL's data directory %s is %w by process %d", h.data(), errInUse, pid)
	case log.contains("pre-existing shared memory block"):
		return fmt.Errorf("PostgreSQL's data directory %s is %w: end them, or start again later", h.data(), errLeftBehind)
	case log.contains("could not create any TCP/IP sockets"):
		return fmt.Errorf("port %d, meant for PostgreSQL, is taken: %w", s.port, errPortTaken)
	default:
		return fmt.Errorf("PostgreSQL did not start on %s: %s", h.data(), log.reason())
	}
}
