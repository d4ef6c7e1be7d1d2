package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// rates are the mean times between two operations of a site.
var rates = []struct {
	site  string
	every time.Duration
}{
	{chain, 600 * time.Millisecond},
	{starter, 600 * time.Millisecond},
	{quiet, 3 * time.Second},
	{restless, 500 * time.Millisecond},
	{sandbox, 1500 * time.Millisecond},
}

const (
	// twinPart is the part of the operations, one of this number, that another client makes at the same time on the same
	// target.
	twinPart = 8
	// rushPart is the part of the time, one of this number of equal periods, in which a site is four times as busy.
	rushPart = 5
	// rushTime is the length of a period.
	rushTime = 5 * time.Second
)

// manyRate is the factor by which operations of the chain are rarer if it has a hundred webhooks. Otherwise two
// processors would not make its deliveries in time.
const manyRate = 4

// newPlan returns the operations of a run in the order of their times. The same seed gives the same operations. Of each
// site, the kinds of operations come in rounds that contain each kind as often as its weight.
func newPlan(seed uint64, lasts time.Duration) []planned {
	var list []planned
	for i, r := range rates {
		random := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // repeatable
		var round []string
		every := r.every
		if r.site == chain && lasts >= manyFrom {
			every *= manyRate
		}
		for at := gap(random, every, 0); at < lasts; at += gap(random, every, at) {
			if len(round) == 0 {
				round = newRound(random, r.site)
			}
			p := planned{At: at, Site: r.site, Kind: round[0], Pick: random.Uint64()}
			round = round[1:]
			list = append(list, p)
			if random.IntN(twinPart) == 0 {
				list = append(list, p)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b planned) int { return cmp.Compare(a.At, b.At) })
	for i := range list {
		list[i].Number = i + 1
	}
	return list
}

// gap returns the time from one operation of a site to the next one.
func gap(random *rand.Rand, mean, at time.Duration) time.Duration {
	if int(at/rushTime)%rushPart == rushPart-1 {
		mean /= 4
	}
	return time.Duration(random.ExpFloat64() * float64(mean))
}

// newRound returns the kinds of operations of a site in a random order, each as often as its weight.
func newRound(random *rand.Rand, site string) (round []string) {
	for _, k := range kinds {
		if !slices.Contains(k.sites, site) {
			continue
		}
		for range k.weight {
			round = append(round, k.name)
		}
	}
	random.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
	return round
}
