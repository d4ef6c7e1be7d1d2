package delivery_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Random arrivals, replays, hours and plans, and what must hold after each of them.
func TestWindowsHoldWhateverHappens(t *testing.T) {
	t.Parallel()
	for range 6 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			r.Subscribe(t, db, 0, app.EventOrderCreated)
			ended := r.endedDeliveries(t, db, 1500)
			plan, now := app.PlanStarter, noon
			setPlan(t, db, now, r.Website, plan)
			most := map[time.Time]slotted{} // what a window had when another plan let it
			starts := map[time.Time]int{}   // what was claimed in each window
			late := map[int]bool{}          // deliveries whose slot's window passed before they could start
			lateIn := map[time.Time]bool{}  // windows in which such started
			var log []string
			before := slots(t, db, "true")
			for range 25 {
				switch random.IntN(6) {
				case 0, 1:
					n := random.IntN(1500)
					log = append(log, fmt.Sprintf("%d events", n))
					emit(t, db, n, r.Stores[0])
				case 2:
					n := min(random.IntN(400), len(ended))
					log = append(log, fmt.Sprintf("%d replays", n))
					for _, id := range ended[:n] {
						_, err := db.Replay(t.Context(), now, r.Stores[0], app.Actor{}, id)
						must(t, err)
					}
					ended = ended[n:]
					before = nil
				case 3:
					now = now.Add(time.Duration(random.IntN(200)) * time.Minute)
					log = append(log, now.Format("15:04"))
				case 4:
					plan = app.Plans[random.IntN(3)]
					log = append(log, string(plan))
					setPlan(t, db, now, r.Website, plan)
					if random.IntN(2) == 0 { // else others come between
						moveAllUp(t, db, now)
					}
				case 5:
					_, err := db.MoveUp(t.Context(), now)
					must(t, err)
				}
				current := app.PlanWindow(now, time.Hour)
				starts[current] += len(dispatch(t, db, now).Claims)
				given := slots(t, db, "true")
				claims, err := db.ClaimQueued(t.Context(), now, all)
				must(t, err)
				starts[current] += len(claims)

				complain := func(format string, args ...any) {
					t.Helper()
					t.Errorf("after %s: %s", strings.Join(log, ", "), fmt.Sprintf(format, args...))
				}
				limit, _ := plan.PerWindow()
				for i := range before {
					if given[i].After(before[i]) {
						complain("delivery %d moved back from %v to %v", i, before[i], given[i])
						break
					}
				}
				before = slots(t, db, "true")
				for i, at := range before {
					if at != given[i] {
						late[i], lateIn[current] = true, true
						if at != now || !given[i].Before(current) {
							complain("delivery %d moved from %v to %v", i, given[i], at)
						}
					}
				}
				var first []time.Time
				taken, replays := map[time.Time]int{}, map[time.Time]int{}
				for i, again := range replayed(t, db) {
					window := app.PlanWindow(before[i], time.Hour)
					switch {
					case late[i]:
						continue
					case again:
						replays[window]++
					default:
						first = append(first, before[i])
					}
					if again || i >= 1500 {
						taken[window]++
					}
				}
				if !slices.IsSortedFunc(first, time.Time.Compare) {
					complain("not in the order of arrival")
				}
				var room time.Time
				moving := count(t, db, "SELECT count(*) FROM plan_moves") > 0
				for _, w := range r.windows(t, db, current) {
					exact := w.taken == taken[w.start] && w.replays == replays[w.start]
					if !exact && !(lateIn[w.start] && w.taken >= taken[w.start] && w.replays >= replays[w.start]) {
						complain("%+v, but %d deliveries with %d replays", w, taken[w.start], replays[w.start])
					}
					if w.started != starts[w.start] || w.started > w.taken {
						complain("%+v, but %d have started", w, starts[w.start])
					}
					if had := most[w.start]; w.taken > max(limit, had.taken) || w.replays > max(limit/2, had.replays) {
						complain("%+v, of %d that are allowed, and before %+v", w, limit, had)
					}
					if w.taken > w.replays && !room.IsZero() && !moving {
						complain("%+v, though there is room at %v", w, room)
					}
					if w.taken < limit && room.IsZero() {
						room = w.start
					}
					delete(taken, w.start)
					most[w.start] = w
				}
				for start, n := range taken {
					if !start.Before(current) {
						complain("%d deliveries in the window %v, which has no slots", n, start)
					}
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// replayed tells of each delivery, in the order of their events, whether it is a replay.
func replayed(t *testing.T, db *persistencetest.Database) (all []bool) {
	t.Helper()
	rows, err := db.System().DB.QueryContext(t.Context(), "SELECT replays > 0 FROM deliveries ORDER BY event_id")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var one bool
		must(t, rows.Scan(&one))
		all = append(all, one)
	}
	must(t, rows.Err())
	return all
}
