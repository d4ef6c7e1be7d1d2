package app

// Plan is what a website pays for. It bounds the deliveries of one clock hour (spec,
// Limits).
type Plan string

const (
	PlanStarter      Plan = "STARTER"
	PlanGrow         Plan = "GROW"
	PlanProfessional Plan = "PROFESSIONAL"
	PlanEnterprise   Plan = "ENTERPRISE"
)
