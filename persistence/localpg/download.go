//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// ErrNotInstalled means that PostgreSQL is not installed and could not be downloaded.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// advice ends the error messages about a missing PostgreSQL.
const advice = "install PostgreSQL 15 or newer (Debian, Ubuntu: apt-get install postgresql; " +
	"macOS: brew install postgresql@17), or set DATABASE_URL to the URL of a server"

// download downloads PostgreSQL into the user's cache directory, unless it is already there.
func download(ctx context.Context, cluster int, h *home, log io.Writer) (binaries, error) {
	if h.runAs != nil {
		return binaries{}, fmt.Errorf("%w, and root cannot download it: %s", ErrNotInstalled, advice)
	}
	version, major, err := downloadVersion(cluster)
	if err != nil {
		return binaries{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return binaries{}, err
	}
	root := filepath.Join(cache, "comanda", "postgresql-"+string(version))
	if found, ok := binariesIn(ctx, filepath.Join(root, "bin")); ok {
		return found, nil
	}
	if err := fetch(ctx, version, root, log); err != nil {
		reason, output, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintln(log, output)
		return binaries{}, fmt.Errorf("%w, and downloading it failed (%s): %s", ErrNotInstalled, reason, advice)
	}
	return binaries{dir: filepath.Join(root, "bin"), major: major}, nil
}

// downloadVersion returns the version to download: the cluster's major version, or the newest version
// if there is no cluster.
func downloadVersion(cluster int) (version embeddedpostgres.PostgresVersion, major int, err error) {
	switch cluster {
	case 15:
		return embeddedpostgres.V15, 15, nil
	case 16:
		return embeddedpostgres.V16, 16, nil
	case 17:
		return embeddedpostgres.V17, 17, nil
	case 0, 18:
		return embeddedpostgres.V18, 18, nil
	default:
		return "", 0, fmt.Errorf("the data directory was created by PostgreSQL %d, which is not installed: "+
			"install it, or move the directory to start without its data", cluster)
	}
}

// fetch downloads and unpacks PostgreSQL into root. The library has no function for that alone.
// Therefore fetch starts a server once, in a temporary directory, which also verifies the binaries.
func fetch(ctx context.Context, version embeddedpostgres.PostgresVersion, root string, log io.Writer) error {
	port, err := listenable(ctx, 0)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "comanda-postgres-*")
	if err != nil {
		return err
	}
	trial := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(version).
		Port(uint32(port)).
		CachePath(filepath.Dir(root)).
		BinariesPath(root).
		RuntimePath(filepath.Join(scratch, "runtime")).
		StartParameters(map[string]string{"listen_addresses": "localhost", "unix_socket_directories": ""}).
		StartTimeout(time.Minute).
		Logger(log))
	finished := make(chan error, 1)
	go func() {
		err := trial.Start()
		if err == nil {
			err = trial.Stop()
		}
		finished <- errors.Join(err, os.RemoveAll(scratch))
	}()
	select {
	case err := <-finished:
		return err
	case <-ctx.Done():
	}
	// An unfinished download can be abandoned. A started server must be stopped, which takes seconds.
	if _, unpacked := binariesIn(context.WithoutCancel(ctx), filepath.Join(root, "bin")); unpacked {
		return errors.Join(ctx.Err(), <-finished)
	}
	return ctx.Err()
}
