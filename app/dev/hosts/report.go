package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// placed is an order that the API has confirmed.
type placed struct {
	order string
	at    time.Time // of the response
}

// arrival is a request of a webhook with the event of a new order.
type arrival struct {
	event, order string
	at           time.Time
}

// round is the time of one fault, with the orders that were placed meanwhile.
type round struct {
	fault   string
	strict  bool // no request may fail, and no event may arrive twice
	begin   time.Time
	healed  time.Time // the end of the fault
	placed  []placed
	reasons map[string]int // requests that the clients have repeated, by the reason
}

// row is the result of one round.
type row struct {
	fault      string
	strict     bool
	events     int           // orders that the API has confirmed
	lost       int           // orders whose event has not arrived
	doubled    int           // orders that arrived although no response has confirmed them
	duplicates int           // requests for an event after the first request
	failed     int           // requests that the clients have repeated
	gap        time.Duration // longest time without the first request for any event
	recovery   time.Duration // from the end of the fault until all events of earlier orders had arrived
}

// rows compares the orders of all rounds with all arrivals. An arrival belongs to the round in which its order was
// placed. The arrival of an order that was never confirmed belongs to the round that began last before it.
func rows(rounds []round, arrivals []arrival) []row {
	byOrder := map[string][]arrival{}
	for _, a := range arrivals {
		byOrder[a.order] = append(byOrder[a.order], a)
	}
	var list []row
	for _, r := range rounds {
		result := row{fault: r.fault, strict: r.strict, events: len(r.placed)}
		for _, n := range r.reasons {
			result.failed += n
		}
		times := []time.Time{r.begin}
		for _, p := range r.placed {
			first, events := firstOf(byOrder[p.order])
			result.duplicates += len(byOrder[p.order]) - events
			result.doubled += max(events-1, 0)
			delete(byOrder, p.order)
			if events == 0 {
				result.lost++
				continue
			}
			times = append(times, first)
			if p.at.Before(r.healed) {
				result.recovery = max(result.recovery, first.Sub(r.healed))
			}
		}
		slices.SortFunc(times, time.Time.Compare)
		for i := range times[1:] {
			result.gap = max(result.gap, times[i+1].Sub(times[i]))
		}
		list = append(list, result)
	}
	for _, unconfirmed := range slices.Collect(maps.Values(byOrder)) {
		first, events := firstOf(unconfirmed)
		for i := len(rounds) - 1; i >= 0; i-- {
			if i == 0 || !first.Before(rounds[i].begin) {
				list[i].doubled += events
				break
			}
		}
	}
	return list
}

// firstOf returns the time of the first arrival of an order and the number of its events.
func firstOf(arrivals []arrival) (first time.Time, events int) {
	ids := map[string]bool{}
	for _, a := range arrivals {
		ids[a.event] = true
		if first.IsZero() || a.at.Before(first) {
			first = a.at
		}
	}
	return first, len(ids)
}

// check returns an error if the result of a round is not acceptable.
func (r row) check() error {
	switch {
	case r.events == 0:
		return fmt.Errorf("%s: no order was placed", r.fault)
	case r.lost > 0:
		return fmt.Errorf("%s: %d of %d events are lost", r.fault, r.lost, r.events)
	case r.doubled > 0:
		return fmt.Errorf("%s: %d orders are doubled", r.fault, r.doubled)
	case r.strict && r.failed > 0:
		return fmt.Errorf("%s: %d requests failed", r.fault, r.failed)
	case r.strict && r.duplicates > 0:
		return fmt.Errorf("%s: %d requests of webhooks are duplicates", r.fault, r.duplicates)
	}
	return nil
}

// printTable writes the results as a table of Markdown.
func printTable(out io.Writer, list []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprint(table, "| fault\t| events\t| lost\t| duplicates\t| repeated requests\t| longest gap\t| recovery time\t|\n")
	fmt.Fprint(table, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n")
	for _, r := range list {
		fmt.Fprintf(table, "| %s\t| %d\t| %d\t| %d\t| %d\t| %.1f s\t| %.1f s\t|\n", r.fault, r.events, r.lost,
			r.duplicates, r.failed, r.gap.Seconds(), r.recovery.Seconds())
	}
	return table.Flush()
}
