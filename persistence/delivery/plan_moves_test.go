package delivery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func moveAllUp(t *testing.T, db *persistencetest.Database, now time.Time) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = db.MoveUp(t.Context(), now)
		must(t, err)
	}
}

// The plan gets better, then worse, then better again, with a queue and events in between.
func TestTheQueueFollowsThePlan(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	check := func(what string, now time.Time, want map[string]int) {
		t.Helper()
		at := slots(t, db, "true")
		if diff := cmp.Diff(want, perHour(at)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if !slices.IsSortedFunc(at, time.Time.Compare) {
			t.Errorf("%s: not in the order of arrival", what)
		}
		// what the windows say is what the deliveries say
		taken := map[string]int{}
		for _, w := range r.windows(t, db, noon) {
			taken[w.start.Format("02 15")] = w.taken
		}
		if diff := cmp.Diff(want, taken); diff != "" {
			t.Errorf("%s: windows: %s", what, diff)
		}
	}
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	emit(t, db, 4000, r.Stores[0])
	dispatch(t, db, noon)
	check("starter", noon, map[string]int{"14 12": 500, "14 13": 500, "14 14": 500, "14 15": 500, "14 16": 500, "14 17": 500, "14 18": 500, "14 19": 500})

	at := noon.Add(time.Minute)
	setPlan(t, db, at, r.Website, app.PlanGrow)
	emit(t, db, 100, r.Stores[0]) // while the queue moves up
	more, err := db.MoveUp(t.Context(), at)
	must(t, err)
	if d := dispatch(t, db, at); !more || len(d.Claims) != 0 {
		t.Errorf("%d overtake the queue while it moves up", len(d.Claims))
	}
	moveAllUp(t, db, at)
	check("grow", at, map[string]int{"14 12": 2000, "14 13": 2000, "14 14": 100})
	if n := count(t, db, "SELECT count(*) FROM plan_moves"); n != 0 {
		t.Error("the move does not end")
	}

	setPlan(t, db, at, r.Website, app.PlanStarter)
	moveAllUp(t, db, at)
	emit(t, db, 500, r.Stores[0])
	dispatch(t, db, at)
	check("starter again", at, map[string]int{"14 12": 2000, "14 13": 2000, "14 14": 500, "14 15": 100})

	setPlan(t, db, at, r.Website, app.PlanEnterprise)
	emit(t, db, 1, r.Stores[0])
	if d := dispatch(t, db, at); len(d.Claims) != 0 {
		t.Errorf("%d overtake the queue while it moves up without limit", len(d.Claims))
	}
	moveAllUp(t, db, at)
	emit(t, db, 1, r.Stores[0])
	if d := dispatch(t, db, at); d.Events != 1 || d.Queued != 1 {
		t.Errorf("after the move: %+v", d)
	}
	planned := slots(t, db, "true")
	if len(planned) != 4602 || planned[4601] != at || !slices.IsSortedFunc(planned, time.Time.Compare) {
		t.Errorf("%d deliveries, the last at %v", len(planned), planned[len(planned)-1])
	}
	claims, err := db.ClaimQueued(t.Context(), at, all)
	must(t, err)
	if len(claims) != 4602-500 {
		t.Errorf("%d start when there is no limit any more", len(claims))
	}
}

// What cannot move to an earlier window gets its time in its own as the better plan has it,
// so that others can follow it there.
func TestABetterPlanSpreadsAWindowAnew(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanGrow)
	emit(t, db, 2000, r.Stores[0])
	dispatch(t, db, noon)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	emit(t, db, 700, r.Stores[0])
	dispatch(t, db, noon)
	if diff := cmp.Diff(map[string]int{"14 12": 2000, "14 13": 500, "14 14": 200}, perHour(slots(t, db, "true"))); diff != "" {
		t.Error("before:", diff)
	}
	setPlan(t, db, noon, r.Website, app.PlanGrow)
	moveAllUp(t, db, noon)
	want := slices.Repeat([]time.Time{noon}, 2000)
	for i := range 700 {
		want = append(want, noon.Add(time.Hour+time.Duration(i)*180*time.Millisecond))
	}
	if diff := cmp.Diff(want, slots(t, db, "true")); diff != "" {
		t.Error("after:", diff)
	}
}
