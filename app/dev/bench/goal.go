package main

import "fmt"

// goal is the target of a figure. The zero goal is no target.
type goal struct {
	limit       float64
	upper       bool // the figure must be at most the limit, otherwise at least
	set         bool
	fastMachine bool // the limit applies to fast machines and grows on slower ones, see allowance
}

func atLeast(limit float64) goal { return goal{limit: limit, set: true} }
func atMost(limit float64) goal  { return goal{limit: limit, upper: true, set: true} }

// onFastMachines returns the goal with a limit that grows on slower machines.
func (g goal) onFastMachines() goal {
	g.fastMachine = true
	return g
}

// on returns the goal on a machine with this bare limit per second, 0 = unknown.
func (g goal) on(bare float64) goal {
	if g.fastMachine {
		g.limit *= allowance(bare)
		g.fastMachine = false
	}
	return g
}

// allowance is the factor by which latency goals grow on slower machines: from 1 at a bare limit of
// bareFast per second to 2 at bareSlow.
func allowance(bare float64) float64 {
	if bare == 0 {
		return 1
	}
	bare = min(max(bare, bareSlow), bareFast)
	return 1 + (bareFast-bare)/(bareFast-bareSlow)
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
