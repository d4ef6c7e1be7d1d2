package app

// JobKind names a kind of work that a transaction orders and a workflow does.
type JobKind string

// Job is work that a transaction has ordered. A relay starts its workflow, whose id is
// made of the kind and the subject: ordering twice what has not ended is ordering once.
type Job struct {
	ID      JobID
	Kind    JobKind
	StoreID StoreID
	Subject string // the id of what it is about
}
