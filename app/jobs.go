package app

import (
	"slices"
	"time"
)

// JobKind is a kind of work that a transaction enqueues and a workflow executes.
type JobKind string

// Job is work that a transaction has enqueued. A relay starts its workflow, whose id consists of the kind and the
// subject. Enqueueing a job again before it ends has no effect.
type Job struct {
	ID      JobID
	Kind    JobKind
	StoreID StoreID
	Queue   string // of the store's website, or of all its sandboxes
	Subject string // id of the resource that the job is about
	Urgent  bool   // it does not wait for jobs that are not urgent
}

// JobClaim limits one claim of jobs.
type JobClaim struct {
	Urgent   bool // claim urgent jobs, or the others
	Limit    int
	PerQueue int            // maximum number of jobs of one queue, including Starting
	Starting map[string]int // jobs that the caller is starting, by queue
	Lease    time.Duration  // time after which another claim can return the jobs
}

// UrgentJobs are the kinds of jobs that a deadline or a promise to stop deliveries depends on, or for which deliveries
// wait.
var UrgentJobs = []JobKind{JobAcceptance, JobTeardown, JobDeactivation, JobReordering}

// UrgentMails are the kinds of mails with a link for which a person waits. Their jobs are urgent.
var UrgentMails = []MailKind{
	MailPasswordReset, MailCustomerPasswordReset, MailCustomerEmailChange, MailInvitation,
}

// Urgent reports whether jobs of a kind are urgent. The urgency of a mail depends on its kind.
func (k JobKind) Urgent() bool { return slices.Contains(UrgentJobs, k) }

// Urgent reports whether jobs that send mails of a kind are urgent.
func (k MailKind) Urgent() bool { return slices.Contains(UrgentMails, k) }
