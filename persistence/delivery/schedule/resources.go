package schedule

// oneOfResource omits the starts that follow one of the same resource to the same subscription. The queue has at most
// one delivery of a resource that is not held back; the rule does not depend on that.
func oneOfResource(starts []start) []start {
	type line struct {
		subscription *Subscription
		resource     string
	}
	started := map[line]bool{}
	kept := starts[:0]
	for _, s := range starts {
		l := line{s.subscription, s.Resource}
		if s.Resource != "" && started[l] {
			continue
		}
		started[l] = true
		kept = append(kept, s)
	}
	return kept
}
