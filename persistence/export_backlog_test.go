package persistence

// How the backlog is read.
const (
	BacklogPlan      = backlogPlan
	BacklogStatement = backlogStatement
)
