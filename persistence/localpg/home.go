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
)

// home is the directory of one server, with its cluster, its password and its lock.
type home struct {
	path  string
	runAs *account
	lock  *Lock
	// scratch contains the paths that close deletes: a temporary directory and the link to it.
	scratch []string
}

func (h *home) data() string         { return filepath.Join(h.path, "data") }
func (h *home) passwordFile() string { return filepath.Join(h.path, "password") }

// openHome opens the directory o.Dir, or a temporary directory for "", creates it if necessary, and
// locks it.
func openHome(ctx context.Context, o Options, runAs *account) (*home, error) {
	if o.Dir == "" {
		return openScratch(ctx, o, runAs)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	path := dir
	if runAs != nil {
		if path, err = runAs.place(dir); err != nil {
			return nil, err
		}
	}
	h, err := lockHome(ctx, path, runAs, o.Notice)
	if err != nil || path == dir {
		return h, err
	}
	if err := h.linkFrom(dir); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// TempDir returns the directory for temporary clusters and programs. It is in memory if TMPDIR is not set and the
// machine has enough memory: a database has hundreds of files, so that most of the processor time to create and delete
// one is that of a file system on a disk.
func TempDir() string {
	if os.Getenv("TMPDIR") == "" && hasMemory() {
		return memory
	}
	return os.TempDir()
}

// openScratch opens a temporary home, which close deletes.
func openScratch(ctx context.Context, o Options, runAs *account) (*home, error) {
	dir, err := os.MkdirTemp(TempDir(), "comanda-postgres-*")
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	h, err := openHome(ctx, o, runAs)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	h.scratch = []string{h.path, dir}
	return h, nil
}

// close releases the lock, and deletes a temporary home.
func (h *home) close() error {
	h.lock.Release()
	var errs []error
	for _, path := range h.scratch {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// lockHome locks the directory path and creates it for the account if it does not exist.
func lockHome(ctx context.Context, path string, runAs *account, notice io.Writer) (*home, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := runAs.take(path); err != nil {
		return nil, err
	}
	lock, err := TakeLock(ctx, path, notice)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL's data %w", err)
	}
	return &home{path: path, runAs: runAs, lock: lock}, nil
}

// place returns the path of the server's directory: dir, or its fallback if the account cannot reach
// dir.
func (a *account) place(dir string) (string, error) {
	fallback := fallbackOf(dir)
	target, err := os.Readlink(dir)
	linked := err == nil
	if linked && target == fallback {
		return fallback, nil
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
	unreachable := fmt.Errorf("user %s, which runs PostgreSQL, cannot reach %s", a.name, dir)
	if linked {
		return "", unreachable
	}
	// The link replaces an empty directory only. Another directory may contain data.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unreachable
	}
	return fallback, nil
}

// fallbackOf returns the directory that replaces dir if the server's account cannot reach dir. It
// survives a restart of the machine if the system has a persistent temporary directory.
func fallbackOf(dir string) string {
	base := os.TempDir()
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		base = "/var/tmp"
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(base, "comanda-postgres-"+hex.EncodeToString(sum[:8]))
}

// linkFrom makes dir a symbolic link to this home. A deleted link means that its data was given up, so
// linkFrom deletes the data of a home without a link.
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

// clusterVersion returns the major version of PostgreSQL that created the cluster, 0 if there is no
// cluster.
func (h *home) clusterVersion() (int, error) {
	if _, err := os.Stat(h.data()); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	text, err := os.ReadFile(filepath.Join(h.data(), "PG_VERSION"))
	if err != nil {
		return 0, fmt.Errorf("PostgreSQL's data directory is broken, move it to start without its data: %w", err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || version <= 0 {
		return 0, fmt.Errorf("PostgreSQL's data directory %s is broken, move it to start without its data: "+
			"PG_VERSION contains %.20q", h.data(), text)
	}
	return version, nil
}

// password returns the superuser's password, which was generated with the cluster.
func (h *home) password() (string, error) {
	text, err := os.ReadFile(h.passwordFile())
	if err != nil {
		return "", fmt.Errorf("PostgreSQL's password cannot be read: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// writePassword generates the password of a new cluster.
func (h *home) writePassword() error {
	if err := os.WriteFile(h.passwordFile(), []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	return h.runAs.take(h.passwordFile())
}
