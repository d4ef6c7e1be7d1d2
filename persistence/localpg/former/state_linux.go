package former

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Indexes of fields of /proc/<pid>/stat after the program's name, and bits of these fields. See proc(5).
const (
	stateField   = 0
	flagsField   = 6
	signalsField = 28

	exitingFlag = 0x4    // PF_EXITING: the process is in exit(2)
	killSignal  = 1 << 8 // SIGKILL, which is signal 9, is pending
)

// existing returns the state of a process whose id is in use.
func existing(pid int) State {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil && missing(pid) {
		return Gone
	}
	if err != nil {
		return Running // /proc hides the process, which belongs to another user
	}
	return parseState(string(stat))
}

// parseState parses the content of /proc/<pid>/stat. The program's name, in parentheses, can contain
// any character.
func parseState(stat string) State {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= signalsField {
		return Running
	}
	number := func(field int) uint64 {
		n, err := strconv.ParseUint(fields[field], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	switch {
	case strings.Contains("ZXx", fields[stateField]):
		return Gone
	case number(flagsField)&exitingFlag != 0, number(signalsField)&killSignal != 0:
		return Ending
	default:
		return Running
	}
}

// WorksIn reports whether dir is the working directory of a process. It returns true if the working
// directory is unknown.
func WorksIn(pid int, dir string) bool {
	works, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return true
	}
	info, err := os.Stat(dir)
	return err != nil || os.SameFile(works, info)
}
