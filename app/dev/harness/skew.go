package harness

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// skewVariable names the file with the offset of a program of [Programs.Skewable].
const skewVariable = "HARNESS_CLOCK"

// skewSource is a file of package time. It maps the file with the offset into memory, so that a change applies
// immediately.
const skewSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var skew = openSkew()

func openSkew() *int64 {
	path, ok := syscall.Getenv("` + skewVariable + `")
	if !ok {
		return new(int64)
	}
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic("open " + path + ": " + err.Error())
	}
	memory, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("map " + path + ": " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&memory[0]))
}

func skewedSeconds() int64 { return atomic.LoadInt64(skew) }
`

// The first lines of time.Now before and after the change. Its monotonic reading stays as it is.
const (
	nowLines    = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	skewedLines = nowLines + "\tsec += skewedSeconds()\n"
)

// Skewable builds Comanda again with a wall clock that [Skew] changes, and returns the programs with it. libfaketime
// does not reach programs in Go, so the build replaces a file of the standard library.
func (p Programs) Skewable(ctx context.Context, dir string) (Programs, error) {
	files, err := skewedTime(ctx)
	if err != nil {
		return p, err
	}
	p.Comanda, err = BuildWith(ctx, dir, "comanda-skewable", files)
	return p, err
}

// skewedTime returns the changed files of package time.
func skewedTime(ctx context.Context) (map[string]string, error) {
	dir, err := SourceOf(ctx, "time")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "time.go")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), nowLines); n != 1 {
		return nil, fmt.Errorf("%s has these lines %d times, want once:\n%s", path, n, nowLines)
	}
	return map[string]string{
		path:                            strings.Replace(string(text), nowLines, skewedLines, 1),
		filepath.Join(dir, "z_skew.go"): skewSource,
	}, nil
}

// Skew is the offset of the wall clock of a program of [Programs.Skewable]. It is in a file.
type Skew struct{ File string }

// Environment returns the variables of a program with this offset. The file must exist when it starts.
func (s Skew) Environment() map[string]string { return map[string]string{skewVariable: s.File} }

// Set sets the offset to whole seconds, effective immediately.
func (s Skew) Set(offset time.Duration) error {
	file, err := os.OpenFile(s.File, os.O_CREATE|os.O_WRONLY, 0o600) // without O_TRUNC, since programs have mapped it
	if err != nil {
		return err
	}
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(offset.Seconds()))), 0) //nolint:gosec // bits
	return errors.Join(err, file.Close())
}
