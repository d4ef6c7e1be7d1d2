//go:build unix && !linux

package former

// existing returns the state of a process whose id is in use.
func existing(int) State { return Running }

// WorksIn returns true, because only Linux shows the working directory of a process.
func WorksIn(int, string) bool { return true }
