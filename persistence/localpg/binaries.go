//go:build unix

package localpg

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldest is the first supported major version of PostgreSQL.
const oldest = 15

// binaries is a directory with initdb and postgres of one major version.
type binaries struct {
	dir   string
	major int
}

func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }
func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }

// places are the directories, in addition to PATH, in which packages install PostgreSQL.
var places = [...]string{
	"/usr/lib/postgresql/*/bin",                       // Debian, Ubuntu
	"/opt/homebrew/opt/postgresql@*/bin",              // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",                 // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin", // Homebrew on Linux
}

// findBinaries returns the newest installed PostgreSQL. For an existing cluster it returns the
// PostgreSQL of the cluster's major version. If none is installed, it downloads one.
func findBinaries(ctx context.Context, cluster int, h *home, log io.Writer) (binaries, error) {
	installed, err := installedBinaries(ctx)
	if err != nil {
		return binaries{}, err
	}
	for _, found := range installed {
		if cluster == 0 || found.major == cluster {
			return found, nil
		}
	}
	if len(installed) > 0 {
		return binaries{}, fmt.Errorf("the data directory %s was created by PostgreSQL %d, "+
			"but PostgreSQL %d is installed: install PostgreSQL %d, or move the directory to start without its data",
			h.data(), cluster, installed[0].major, cluster)
	}
	return download(ctx, cluster, h, log)
}

// installedBinaries lists the installed versions of PostgreSQL that are supported, newest first. Of
// the same version, those in PATH come first.
func installedBinaries(ctx context.Context) ([]binaries, error) {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for _, place := range places {
		found, err := filepath.Glob(place)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, found...)
	}
	var installed []binaries
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, ok := binariesIn(ctx, dir); ok && found.major >= oldest {
			installed = append(installed, found)
		}
	}
	slices.SortStableFunc(installed, func(a, b binaries) int { return b.major - a.major })
	return installed, ctx.Err()
}

// binariesIn looks for PostgreSQL in a directory and follows symbolic links to the installation. The
// directory must contain initdb and a postgres that prints its version.
func binariesIn(ctx context.Context, dir string) (binaries, bool) {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return binaries{}, false
	}
	found := binaries{dir: filepath.Dir(real)}
	if _, err := exec.LookPath(found.initdb()); err != nil {
		return binaries{}, false
	}
	text, err := exec.CommandContext(ctx, found.postgres(), "--version").Output()
	if err != nil {
		return binaries{}, false
	}
	found.major, err = majorVersion(string(text))
	return found, err == nil
}

// majorVersion parses the output of postgres --version, for example "postgres (PostgreSQL) 15.18
// (Debian 15.18-0+deb12u1)".
func majorVersion(text string) (int, error) {
	match := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("no version in %q", strings.TrimSpace(text))
	}
	return strconv.Atoi(match[1])
}
