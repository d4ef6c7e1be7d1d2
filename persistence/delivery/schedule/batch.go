package schedule

import (
	"cmp"
	"slices"
)

// takeTurns numbers the starts of each website, which are in their order. Websites then take turns. The two lanes are
// numbered separately, since they have separate capacities.
func takeTurns(starts []start) {
	type line struct {
		website string
		prompt  bool
	}
	turns := map[line]int{}
	for i := range starts {
		of := line{starts[i].queue.website(), starts[i].subscription.prompt()}
		turns[of]++
		starts[i].turn = turns[of]
	}
}

// byTurn sorts starts by their turns.
func byTurn(starts []start) {
	slices.SortFunc(starts, func(a, b start) int { return cmp.Or(cmp.Compare(a.turn, b.turn), tie(a, b)) })
}

// batch returns the starts that one claim takes, in their order.
func (l Limits) batch(ready []start, bursting bool) []start {
	byTurn(ready)
	room := l.capacities(bursting)
	var batch []start
	for _, s := range ready {
		part := partOf(s, bursting)
		if room[part] > 0 {
			room[part]--
			batch = append(batch, s)
		}
	}
	return batch
}

// part is a part of a claim. Each part has a separate capacity.
type part int

const (
	promptLane     part = iota // deliveries of healthy, quick subscriptions
	promptReplays              // replays of these subscriptions, beside bursts
	otherLane                  // deliveries of other subscriptions
	failingInBurst             // of these, first deliveries of quick subscriptions as bursts
	parts
)

// partOf returns the part of a claim to which a start belongs. Replays do not share workflows.
func partOf(s start, bursting bool) part {
	switch {
	case s.subscription.prompt() && bursting && s.class == Replay:
		return promptReplays
	case s.subscription.prompt():
		return promptLane
	case s.subscription.Quick && bursting && s.class != Replay:
		return failingInBurst
	}
	return otherLane
}

// capacities returns the sizes of the parts of a claim.
func (l Limits) capacities(bursting bool) (room [parts]int) {
	room[promptLane], room[otherLane] = l.Batch, l.SlowBatch
	if bursting {
		room[promptLane] = l.BurstCapacity()
		// Beside bursts, replays get the rest of the capacity of the starters.
		room[promptReplays] = max(1, l.Batch-l.BurstCapacity()/l.Burst)
		room[failingInBurst] = max(l.SlowBatch, min(failingBursts, l.SlowBatch)*l.Burst)
	}
	return room
}
