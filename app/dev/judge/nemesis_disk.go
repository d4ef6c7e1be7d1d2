package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	// diskSize is the size of the disk in bytes while it is not full. It takes only the memory of its files.
	diskSize = 8 << 30
	// diskRest is the space that a full disk has left.
	diskRest = 256 << 10
)

// diskMissing returns the reason for which this machine cannot mount a disk.
func diskMissing() string {
	dir, err := os.MkdirTemp("", "comanda-judge-disk-*")
	if err != nil {
		return err.Error()
	}
	d := disk{dir}
	if err := errors.Join(d.mount(), d.unmount(), os.Remove(dir)); err != nil {
		return "it must mount a tmpfs as root: " + err.Error()
	}
	return ""
}

// disk is a directory with a file system in memory, whose size can be changed.
type disk struct{ dir string }

func (d disk) mount() error {
	return command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=755", diskSize), "tmpfs", d.dir)
}

func (d disk) unmount() error { return command("umount", d.dir) }

// resize changes the size. It fails if the files need more.
func (d disk) resize(bytes int64) error {
	return command("mount", "-o", fmt.Sprintf("remount,size=%d", bytes), d.dir)
}

// fill makes the disk almost as small as its files.
func (d disk) fill() (err error) {
	for range 20 { // the files grow meanwhile
		var is syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &is); err != nil {
			return err
		}
		used := int64(is.Blocks-is.Bfree) * is.Bsize //nolint:gosec // at most diskSize
		if err = d.resize(used + diskRest); err == nil {
			return nil
		}
	}
	return err
}

// keep moves the files to the disk below, and unmounts.
func (d disk) keep() error {
	kept := d.dir + ".kept"
	return errors.Join(command("cp", "-a", d.dir, kept), d.unmount(), os.Remove(d.dir), os.Rename(kept, d.dir))
}

func command(name string, args ...string) error {
	out, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// limitDisk mounts a disk for PostgreSQL.
func limitDisk(_ context.Context, w *world) error {
	d := disk{w.cluster()}
	if err := errors.Join(os.Mkdir(d.dir, 0o755), d.mount()); err != nil {
		return err
	}
	w.disk = &d
	return nil
}

// fillDisk leaves PostgreSQL no space for some time. Without space for its log, PostgreSQL ends all sessions, and may
// end itself: then it is started again, with space.
func fillDisk(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (detail string, err error) {
	if err := w.disk.fill(); err != nil {
		return "", err
	}
	if err := errors.Join(wait(ctx, lasts), w.disk.resize(diskSize)); err != nil {
		return "", err
	}
	return w.recoverPostgres(ctx)
}

// recoverPostgres waits until PostgreSQL accepts connections, or has ended.
func (w *world) recoverPostgres(ctx context.Context) (string, error) {
	for {
		select {
		case <-w.postgres.Done():
			return "PostgreSQL ended", w.stopPostgres(ctx)
		default:
		}
		if w.db.Ping(ctx) == nil {
			return "", nil
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
	}
}
