package app

import "time"

// Plan is what a website pays for. It bounds the deliveries of one clock hour (spec,
// Limits): each takes a slot, which says when it starts at the earliest (contract §4, Plan
// rate). One that an outage or its receiver delays beyond its window starts in a later one,
// before those whose slots are in that and instead of as many of them: no window lets more
// start for it. To start is to be handed to a workflow. One that is cancelled or finds its
// subscription inactive does not give its slot back.
type Plan string

const (
	PlanStarter      Plan = "STARTER"
	PlanGrow         Plan = "GROW"
	PlanProfessional Plan = "PROFESSIONAL"
	PlanEnterprise   Plan = "ENTERPRISE"
)

// Plans lists all of them, each better than the one before.
var Plans = [...]Plan{PlanStarter, PlanGrow, PlanProfessional, PlanEnterprise}

// DefaultPlanWindow is how long a window of a plan is unless COMANDA_PLAN_WINDOW says
// otherwise.
const DefaultPlanWindow = time.Hour

// PerWindow returns how many deliveries may start in one window, of which replays take at
// most half. ok is false when the plan has no limit.
func (p Plan) PerWindow() (limit int, ok bool) {
	switch p {
	case PlanStarter:
		return 500, true
	case PlanGrow:
		return 2_000, true
	case PlanProfessional:
		return 10_000, true
	}
	return 0, false
}

// Limit is PerWindow, nil when the plan has no limit.
func (p Plan) Limit() *int {
	if limit, ok := p.PerWindow(); ok {
		return &limit
	}
	return nil
}

// Improves reports whether the plan lets more start in a window than the old one.
func (p Plan) Improves(old Plan) bool {
	limit, limited := p.PerWindow()
	before, wasLimited := old.PerWindow()
	return wasLimited && (!limited || limit > before)
}

// PlanWindow returns the start of the window in which a moment lies. Windows divide the
// clock from the Unix epoch on.
func PlanWindow(at time.Time, length time.Duration) time.Time {
	return time.Unix(0, 0).UTC().Add(at.Sub(time.Unix(0, 0)).Truncate(length))
}

// PlanUsage is how much of its plan a store's website has used, or a sandbox of its own
// (contract §4, Plan rate).
type PlanUsage struct {
	Plan             Plan  `json:"plan"` // STARTER for a sandbox
	WindowStart      Time  `json:"windowStart"`
	WindowEnd        Time  `json:"windowEnd"` // not included
	Limit            *int  `json:"limit"`     // deliveries that may start in a window; null = as many as there are
	Taken            int   `json:"taken"`     // slots of this window, replays included, or what has started in it if that is more; 0 without a limit
	ReplaysTaken     int   `json:"replaysTaken"`
	Queued           int   `json:"queued"`           // deliveries that wait for their slot, or for room in a later window
	LastScheduledFor *Time `json:"lastScheduledFor"` // when the last of them has its slot; null when none waits for one
}
