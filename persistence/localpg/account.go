//go:build unix

package localpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user as whom PostgreSQL runs where this process is root. A nil account is this process's own user.
type account struct {
	name     string
	uid, gid uint32
}

// serverAccount returns the user as whom PostgreSQL is to run: nil unless this process is root.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody to run it as")
}

// credential is what makes a child process run as this account.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// take makes the account the owner of path, which must be root's or its own already.
func (a *account) take(path string) error {
	if a == nil {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch owner := ownerOf(info); owner {
	case a.uid:
		return nil
	case 0:
		return os.Lchown(path, int(a.uid), int(a.gid))
	default:
		return fmt.Errorf("%s belongs to another user (uid %d), while PostgreSQL runs as %s", path, owner, a.name)
	}
}

// canReach tells whether the account may enter dir and every directory above it.
func (a *account) canReach(dir string) (bool, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, err
	}
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return false, err
		}
		if !a.mayEnter(info) {
			return false, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true, nil
		}
		dir = parent
	}
}

// mayEnter reads the execute bit that counts for the account.
func (a *account) mayEnter(dir fs.FileInfo) bool {
	var bit fs.FileMode
	switch stat := dir.Sys().(*syscall.Stat_t); {
	case stat.Uid == a.uid:
		bit = 0o100
	case stat.Gid == a.gid:
		bit = 0o010
	default:
		bit = 0o001
	}
	return dir.Mode()&bit != 0
}

// ownerOf returns the user id of a file's owner.
func ownerOf(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }
