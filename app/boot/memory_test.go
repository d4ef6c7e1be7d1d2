package boot

import (
	"errors"
	"math"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	known := func(bytes uint64) func() (uint64, error) { return func() (uint64, error) { return bytes, nil } }
	unknown := func() (uint64, error) { return 0, errors.New("no limit") }
	for name, c := range map[string]struct {
		goLimit         int64
		cgroup, machine func() (uint64, error)
		want            uint64
	}{
		"GOMEMLIMIT":                  {460 << 20, known(512 << 20), known(8 << 30), 460 << 20},
		"GOMEMLIMIT above the cgroup": {1 << 40, known(512 << 20), known(8 << 30), 512 << 20},
		"GOMEMLIMIT=0":                {0, known(512 << 20), known(8 << 30), 1},
		"GOMEMLIMIT without a cgroup": {460 << 20, unknown, known(8 << 30), 460 << 20},
		"cgroup":                      {math.MaxInt64, known(512 << 20), known(8 << 30), 512 << 20},
		"machine":                     {math.MaxInt64, unknown, known(8 << 30), 2 << 30},
		"unknown":                     {math.MaxInt64, unknown, unknown, 0},
	} {
		if got := limitOf(c.goLimit, c.cgroup, c.machine); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
	if memoryLimit() == 0 {
		t.Error("limit of this process: got 0, want that of the machine or less")
	}
}
