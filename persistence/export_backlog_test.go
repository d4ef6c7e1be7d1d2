package persistence

// How the backlog is read.
const (
	BacklogPlan      = alongIndexes
	BacklogStatement = backlogStatement
)
