package app

import "time"

// Plan limits how many deliveries of a website start in one clock hour, its window (spec, Limits). A delivery starts when
// it is handed to a workflow. If the window has no room, the delivery stays queued and starts in a later one (contract §4,
// Plan rate). A delivery that is cancelled, or that finds its subscription inactive, counts as well.
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
	Taken            int   `json:"taken"`     // deliveries that have started in this window, replays included; 0 without a limit
	ReplaysTaken     int   `json:"replaysTaken"`
	Queued           int   `json:"queued"`           // deliveries that wait for a later window
	LastScheduledFor *Time `json:"lastScheduledFor"` // start of the window of the last of them, as far as known; null if none waits
}
