package schedule

// Expect estimates the starts of queued deliveries, of which it gets the classes, oldest first. It returns for each of
// them the number of windows after w in which it starts, if no delivery is added and each subscription has places.
func (w Window) Expect(queued []Class) []int {
	var lines [Classes][]int // indexes of queued
	for i, class := range queued {
		lines[class] = append(lines[class], i)
	}
	windows := make([]int, len(queued))
	w.forward([Classes]int{len(lines[First]), len(lines[Customer]), len(lines[Replay])},
		func(replays int) bool {
			return replays > 0 && (len(lines[First]) == 0 || lines[Replay][0] < lines[First][0])
		},
		func(class Class, n int) {
			windows[lines[class][0]], lines[class] = n, lines[class][1:]
		})
	return windows
}

// Last estimates the start of the last of the queued deliveries, like Expect, if the replays are the oldest.
func (w Window) Last(queued [Classes]int) (last int) {
	w.forward(queued, func(replays int) bool { return replays > 0 }, func(_ Class, n int) { last = n })
	return last
}

// forward fills one window after another until no delivery is queued. replayFirst reports whether the next replay is
// older than the next first delivery; it gets the number of replays that may start. start is called for each delivery
// with the number of its window.
func (w Window) forward(queued [Classes]int, replayFirst func(replays int) bool, start func(class Class, n int)) {
	for n := 0; ; n++ {
		replays, before := min(queued[Replay], w.freeForReplays()), queued
		w.fill(line{waiting: queued[First] + replays}, line{waiting: queued[Customer]}, func(customer bool) {
			class := First
			switch {
			case customer:
				class = Customer
			case replayFirst(replays) || queued[First] == 0:
				class = Replay
				replays--
			}
			queued[class]--
			start(class, n)
		})
		if queued == [Classes]int{} || queued == before && n > 0 { // a plan of one start makes no replays
			return
		}
		w = Window{Limit: w.Limit}
	}
}
