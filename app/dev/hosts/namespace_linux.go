package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespaces is the directory of the namespaces that `ip netns` creates.
const namespaces = "/var/run/netns"

// within calls f on a thread in a network namespace. Sockets that f creates stay in that namespace. f must not start
// goroutines that create sockets, or processes.
func within(namespace string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- enter(namespace, f) }()
	return <-done
}

// enter implements within. If the thread cannot leave the namespace, it stays locked and ends with its goroutine.
// Otherwise it must not end: processes that it has started would receive their signal for the death of their parent.
func enter(namespace string, f func() error) error {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer own.Close()
	other, err := os.Open(filepath.Join(namespaces, namespace))
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer other.Close()
	if err := unix.Setns(int(other.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = f()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}
