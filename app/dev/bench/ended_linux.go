package main

import (
	"bytes"
	"fmt"
	"os"
)

// tick is the unit of times in /proc, in milliseconds. It is the same on all architectures.
const tick = 10

// endedChildren returns the CPU time of a process's children that have ended, in milliseconds.
func endedChildren(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// proc(5): the second field is in brackets and may hold blanks; cutime and cstime are the 16th
	// and the 17th.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return 0, fmt.Errorf("/proc/%d/stat: cannot be read", pid)
	}
	var user, system float64
	if _, err := fmt.Sscan(string(fields[13])+" "+string(fields[14]), &user, &system); err != nil {
		return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	return tick * (user + system), nil
}
