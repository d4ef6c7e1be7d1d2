package app

// JobKind is a kind of work that a transaction enqueues and a workflow executes.
type JobKind string

// Job is work that a transaction has enqueued. A relay starts its workflow, whose id consists of the kind and the
// subject. Enqueueing a job again before it ends has no effect.
type Job struct {
	ID      JobID
	Kind    JobKind
	StoreID StoreID
	Subject string // id of the resource that the job is about
}
