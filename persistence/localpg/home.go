//go:build unix

package localpg

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/comanda-dev/comanda/persistence/localpg/dirlock"
)

// home is the directory of one server: its cluster, its password, its lock.
type home struct {
	path string
	who  *account
	lock *dirlock.Lock
	// scratch are the paths to delete in the end: the directory of a temporary home and the link to it.
	scratch []string
}

func (h *home) data() string         { return filepath.Join(h.path, "data") }
func (h *home) passwordFile() string { return filepath.Join(h.path, "password") }

// openHome finds or makes the directory o.Dir, a temporary one for "", and locks it.
func openHome(ctx context.Context, o Options, who *account) (*home, error) {
	if o.Dir == "" {
		return openScratch(ctx, o, who)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	path := dir
	if who != nil {
		if path, err = who.place(dir); err != nil {
			return nil, err
		}
	}
	h, err := lockHome(ctx, path, who, o.Notice)
	if err != nil || path == dir {
		return h, err
	}
	if err := h.linkFrom(dir); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// openScratch makes a home that close deletes.
func openScratch(ctx context.Context, o Options, who *account) (*home, error) {
	dir, err := os.MkdirTemp("", "comanda-postgres-*")
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	h, err := openHome(ctx, o, who)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	h.scratch = []string{h.path, dir}
	return h, nil
}

// close gives the home up, and deletes it if it was a temporary one.
func (h *home) close() error {
	h.lock.Release()
	var errs []error
	for _, path := range h.scratch {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// lockHome makes path a directory that who owns, unless it exists, and locks it.
func lockHome(ctx context.Context, path string, who *account, notice io.Writer) (*home, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := who.take(path); err != nil {
		return nil, err
	}
	lock, err := dirlock.Take(ctx, path, notice)
	if held, ok := errors.AsType[*dirlock.HeldError](err); ok {
		return nil, fmt.Errorf("PostgreSQL's data %w", held)
	}
	if err != nil {
		return nil, err
	}
	return &home{path: path, who: who, lock: lock}, nil
}

// place decides where the server's directory is: dir, or its refuge if the account cannot reach dir.
func (a *account) place(dir string) (string, error) {
	refuge := refugeOf(dir)
	target, err := os.Readlink(dir)
	linked := err == nil
	if linked && target == refuge {
		return refuge, nil
	}
	if linked {
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", err
		}
	}
	reachable, err := a.canReach(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	if reachable {
		return dir, nil
	}
	unreachable := fmt.Errorf("user %s, as whom PostgreSQL runs, cannot reach %s", a.name, dir)
	if linked {
		return "", unreachable
	}
	// An empty directory gives way to the link; anything else is somebody's data.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unreachable
	}
	return refuge, nil
}

// refugeOf names the directory that stands in for dir where the server's account cannot reach dir. It outlives a
// restart of the machine if the system has a temporary directory that does.
func refugeOf(dir string) string {
	base := os.TempDir()
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		base = "/var/tmp"
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(base, "comanda-postgres-"+hex.EncodeToString(sum[:8]))
}

// linkFrom makes dir a link to this home, which stands in for it. The data lives as long as its link: what is found
// here without one was given up when dir was deleted.
func (h *home) linkFrom(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	for _, path := range []string{h.data(), h.passwordFile()} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return os.Symlink(h.path, dir)
}

// clusterVersion returns the major version of PostgreSQL that made the cluster, or 0 if there is no cluster yet.
func (h *home) clusterVersion() (int, error) {
	if _, err := os.Stat(h.data()); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	text, err := os.ReadFile(filepath.Join(h.data(), "PG_VERSION"))
	if err != nil {
		return 0, fmt.Errorf("PostgreSQL's data directory is broken, move it away to start afresh: %w", err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || version <= 0 {
		return 0, fmt.Errorf("PostgreSQL's data directory %s is broken, move it away to start afresh: PG_VERSION says %.20q", h.data(), text)
	}
	return version, nil
}

// password returns the superuser's password, which was chosen when the cluster was made.
func (h *home) password() (string, error) {
	text, err := os.ReadFile(h.passwordFile())
	if err != nil {
		return "", fmt.Errorf("PostgreSQL's password is gone: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// writePassword chooses a password for a new cluster.
func (h *home) writePassword() error {
	if err := os.WriteFile(h.passwordFile(), []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	return h.who.take(h.passwordFile())
}
