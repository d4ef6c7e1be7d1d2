package main

import "fmt"

// goal is the target of a figure. The zero goal is no target.
type goal struct {
	limit       float64
	upper       bool // the figure must be at most the limit, otherwise at least
	set         bool
	fastMachine bool // the limit applies to fast machines and is easier on slower ones, see allowance
}

func atLeast(limit float64) goal { return goal{limit: limit, set: true} }
func atMost(limit float64) goal  { return goal{limit: limit, upper: true, set: true} }

// onFastMachines returns the goal with a limit that is easier on slower machines.
func (g goal) onFastMachines() goal {
	g.fastMachine = true
	return g
}

// The goals of fast machines apply to machines on which the minimal sender delivers limitFast per second. They are
// easier by a factor that grows to 2 at limitSlow.
const (
	limitFast = 1500
	limitSlow = 750
)

// on returns the goal on a machine on which the minimal sender delivers limit per second, 0 = unknown.
func (g goal) on(limit float64) goal {
	switch {
	case !g.fastMachine || limit == 0:
	case g.upper:
		g.limit *= allowance(limit)
	default:
		g.limit /= allowance(limit)
	}
	g.fastMachine = false
	return g
}

// allowance is the factor by which goals are easier on slower machines.
func allowance(limit float64) float64 {
	return limitFast / min(max(limit, limitSlow), limitFast)
}

// reached reports whether a figure reaches the goal.
func (g goal) reached(figure float64) bool {
	if g.upper {
		return figure <= g.limit
	}
	return figure >= g.limit
}

// String returns the goal for the report, "" if there is none.
func (g goal) String() string {
	switch {
	case !g.set:
		return ""
	case g.upper:
		return fmt.Sprintf("≤ %.4g", g.limit)
	}
	return fmt.Sprintf("≥ %.4g", g.limit)
}
