package boot

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryLimit returns the memory that the process may take, in bytes; 0 = unknown.
func memoryLimit() uint64 {
	return limitOf(debug.SetMemoryLimit(-1), memlimit.FromCgroup, memlimit.FromSystem)
}

// limitOf returns the smaller one of GOMEMLIMIT and the limit of the process's cgroup, otherwise a quarter of the
// machine's memory: without a limit, other programs share the machine.
func limitOf(goLimit int64, cgroup, machine func() (uint64, error)) uint64 {
	own := uint64(max(goLimit, 1)) //nolint:gosec // positive
	if limit, err := cgroup(); err == nil {
		return min(own, limit)
	}
	if goLimit != math.MaxInt64 {
		return own
	}
	if total, err := machine(); err == nil {
		return total / 4
	}
	return 0
}
