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

// account is the user that runs PostgreSQL if this process is root. A nil account is the user of this
// process.
type account struct {
	name     string
	uid, gid uint32
}

// serverAccount returns the user that runs PostgreSQL: nil unless this process is root.
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
	return nil, errors.New("PostgreSQL does not run as root: create a user named postgres or nobody to run it")
}

// credential returns the credential with which a child process runs as this account.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// take makes the account the owner of path. The current owner must be root or the account.
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

// canReach reports whether the account may enter dir and each of its parent directories.
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

// mayEnter reports whether the account may enter a directory.
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
