package app

import "time"

// Plan limits how many first attempts of a website start in one window, which is a clock hour
// (docs/behaviour.md#plan-rate). A delivery counts in the window in which it is claimed, and a replay counts as a first
// attempt. Deliveries beyond the limit stay queued for later windows. Retries do not count.
type Plan string

const (
	PlanStarter      Plan = "STARTER"
	PlanGrow         Plan = "GROW"
	PlanProfessional Plan = "PROFESSIONAL"
	PlanEnterprise   Plan = "ENTERPRISE"
)

// Plans are all plans, in ascending order of their limits.
var Plans = [...]Plan{PlanStarter, PlanGrow, PlanProfessional, PlanEnterprise}

// DefaultPlanWindow is the length of a window if COMANDA_PLAN_WINDOW is not set.
const DefaultPlanWindow = time.Hour

// PerWindow returns the number of deliveries that may start in one window. At most half of them are replays. ok is
// false if the plan has no limit.
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

// Limit returns the limit of PerWindow, or nil if the plan has no limit.
func (p Plan) Limit() *int {
	if limit, ok := p.PerWindow(); ok {
		return &limit
	}
	return nil
}

// PlanWindow returns the start of the window that contains at. Windows have the given length and begin at the Unix
// epoch.
func PlanWindow(at time.Time, length time.Duration) time.Time {
	return time.Unix(0, 0).UTC().Add(at.Sub(time.Unix(0, 0)).Truncate(length))
}

// planMargin is the part at the end of a window in which no workflow of a limited queue starts. Its first attempt, some
// milliseconds later, would be made in the next window.
const planMargin = time.Second

// LastPlanStart returns the time in the window of at, before which workflows start that the window counts: their first
// attempts are made in the window.
func LastPlanStart(at time.Time, length time.Duration) time.Time {
	return PlanWindow(at, length).Add(length - min(planMargin, length/10))
}

// PlanUsage is the usage of a website's plan in the current window. A sandbox has its own plan and usage
// (docs/behaviour.md#plan-rate).
type PlanUsage struct {
	Plan             Plan  `json:"plan"` // STARTER for a sandbox
	WindowStart      Time  `json:"windowStart"`
	WindowEnd        Time  `json:"windowEnd"`        // exclusive
	Limit            *int  `json:"limit"`            // deliveries that may start per window; null = unlimited
	Taken            int   `json:"taken"`            // deliveries started, including replays; 0 if unlimited
	ReplaysTaken     int   `json:"replaysTaken"`     // replays started
	Queued           int   `json:"queued"`           // deliveries that wait for their start; 0 if unlimited
	LastScheduledFor *Time `json:"lastScheduledFor"` // estimated start of the last one; null = all start in this window
}
