package main

// Values of COMANDA_BURST (app/boot). The seed chooses one.
const (
	burstsOff    = "off"    // each delivery has a workflow of its own
	burstsAuto   = "auto"   // deliveries share a workflow if many are queued
	burstsAlways = "always" // deliveries that are claimed together share a workflow
)

// burstsOf returns the value of COMANDA_BURST for a seed.
func burstsOf(seed uint64) string {
	values := [...]string{burstsOff, burstsAuto, burstsAlways}
	return values[seed%uint64(len(values))]
}

// checkBursts checks that both kinds of workflows are tested: each delivery has its own workflow or shares that of a
// burst, as the setting says.
func checkBursts(h *history, s *state) []violation {
	shared := 0
	for _, steps := range s.Steps {
		for _, d := range steps {
			if d.Burst != nil {
				shared++
			}
		}
	}
	switch {
	case h.Bursts == burstsOff && shared > 0:
		return []violation{{Text: "deliveries share workflows, although bursts are off"}}
	case h.Bursts == burstsAlways && shared == 0:
		return []violation{{Text: "no delivery shares a workflow"}}
	}
	return nil
}
