package workflows

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// Limits of the starters of urgent jobs, and of those of the other jobs. A start takes some milliseconds, at most
// startTimeout, which the lease exceeds.
const (
	jobStarters  = 8                // concurrent starts
	jobsPerQueue = 4                // concurrent starts for one website, and mails in flight
	jobLease     = 30 * time.Second // until another worker takes over the jobs of a worker that died
	// jobRetryDelay is the time until a job whose start failed can be claimed again. It keeps its starter so long, so
	// that starts do not fail one after the other without a pause.
	jobRetryDelay = time.Second
	// mailWait is the longest time for which a mail counts as a start of its website after it has been started. With a
	// bound of mails in flight, the mail of a website does not wait in Temporal for those of another one.
	mailWait = time.Second
)

// Jobs starts the workflows of enqueued jobs. Any number of workers can run it concurrently.
type Jobs struct {
	store JobStore
	start jobStart
	gate  *Gate
	now   func() time.Time
	log   zerolog.Logger
	wakes [2]chan struct{}
}

// jobStart starts the workflow of a job. If ended is not nil, it waits for the end of the workflow.
type jobStart = func(ctx context.Context, job app.Job) (ended func(context.Context), err error)

// NewJobs returns a starter of jobs. start must be idempotent. While gate is shut, jobs are released and none is
// claimed. now is the clock of leases, which all starters must share.
func NewJobs(store JobStore, start jobStart, gate *Gate, now func() time.Time, log zerolog.Logger) *Jobs {
	j := &Jobs{store, start, gate, now, log, [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
	gate.whenOpen(j.Wake)
	return j
}

// Wake makes Run look for jobs immediately.
func (j *Jobs) Wake() {
	for _, wake := range j.wakes {
		notify(wake)
	}
}

// Run starts jobs until ctx is done. It looks for jobs when woken, and once a second. Urgent jobs have separate
// starters. Claims whose start was interrupted are released for other workers.
func (j *Jobs) Run(ctx context.Context) {
	var running sync.WaitGroup
	for i, urgent := range []bool{false, true} {
		starting := jobStarts{
			Jobs: j, urgent: urgent, wake: j.wakes[i], freed: make(chan struct{}, 1),
			results: make(chan jobResult, jobStarters), queues: map[string]int{},
		}
		running.Go(func() { starting.run(ctx) })
	}
	running.Wait()
}

// jobResult is the result of a job's start.
type jobResult struct {
	id          app.JobID
	err         error
	interrupted bool // another worker can start the job immediately
}

// jobStarts starts urgent jobs, or the others.
type jobStarts struct {
	*Jobs
	urgent  bool
	wake    chan struct{} // there may be a new job
	freed   chan struct{} // half of the starters are free
	results chan jobResult

	lock   sync.Mutex
	queues map[string]int // running starts and mails in flight by queue
	active int            // running starts
}

func (s *jobStarts) run(ctx context.Context) {
	var recording, starts sync.WaitGroup
	recording.Go(s.record)
	for ctx.Err() == nil {
		claim := s.next()
		more := claim.Limit == 0
		if !more && !s.gate.isShut() {
			jobs := s.claim(ctx, claim)
			for _, job := range jobs {
				starts.Go(func() { s.startOne(ctx, job) })
			}
			more = left(jobs, claim)
		}
		s.pause(ctx, more)
	}
	starts.Wait()
	close(s.results)
	recording.Wait()
}

// next returns the limits of the next claim.
func (s *jobStarts) next() app.JobClaim {
	s.lock.Lock()
	defer s.lock.Unlock()
	return app.JobClaim{
		Urgent: s.urgent, Limit: jobStarters - s.active, PerQueue: jobsPerQueue, Starting: maps.Clone(s.queues),
		Lease: jobLease,
	}
}

// claim claims jobs and counts them as starting.
func (s *jobStarts) claim(ctx context.Context, claim app.JobClaim) []app.Job {
	jobs, err := s.store.ClaimJobs(ctx, s.now(), claim)
	if err != nil && ctx.Err() == nil {
		s.log.Error().Err(err).Msg("cannot claim jobs; retrying")
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, job := range jobs {
		s.active++
		s.queues[job.Queue]++
	}
	return jobs
}

// left reports whether jobs may be left after a claim: it has reached its limit, or that of a queue.
func left(jobs []app.Job, claim app.JobClaim) bool {
	queues := maps.Clone(claim.Starting)
	for _, job := range jobs {
		queues[job.Queue]++
	}
	full := len(jobs) == claim.Limit
	for _, n := range queues { // also a queue that was full before the claim
		full = full || n >= claim.PerQueue
	}
	return full
}

// pause waits for a new job, for a second, or, if jobs are left, for free starters.
func (s *jobStarts) pause(ctx context.Context, more bool) {
	freed := s.freed
	if !more {
		freed = nil
	}
	timer := time.NewTimer(idlePoll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-freed:
	case <-timer.C:
	}
}

func (s *jobStarts) startOne(ctx context.Context, job app.Job) {
	var ended func(context.Context)
	err := s.gate.start(ctx, func(ctx context.Context) (err error) {
		ended, err = s.start(ctx, job)
		return err
	})
	interrupted := errors.Is(err, errShut) || ctx.Err() != nil
	failed := err != nil && !interrupted
	if failed {
		s.log.Error().Err(err).Str("job", string(job.ID)).Str("kind", string(job.Kind)).
			Str("store", string(job.StoreID)).Msg("cannot start the workflow of a job; retrying")
	}
	s.results <- jobResult{job.ID, err, interrupted}
	if failed {
		sleep(ctx, jobRetryDelay, nil)
	}
	s.free(func() { s.active-- })
	if ended != nil {
		limited, cancel := context.WithTimeout(ctx, mailWait)
		defer cancel()
		ended(limited)
	}
	s.free(func() {
		if s.queues[job.Queue]--; s.queues[job.Queue] == 0 {
			delete(s.queues, job.Queue)
		}
	})
}

// free counts less as running, and wakes run if enough starters are free.
func (s *jobStarts) free(count func()) {
	s.lock.Lock()
	count()
	freed := s.active <= jobStarters/2
	s.lock.Unlock()
	if freed {
		notify(s.freed)
	}
}

// record removes started jobs and releases the others. It records the results that are available together.
func (s *jobStarts) record() {
	for result := range s.results {
		var started, failed, interrupted []app.JobID
		for more := true; more; {
			switch {
			case result.err == nil:
				started = append(started, result.id)
			case result.interrupted:
				interrupted = append(interrupted, result.id)
			default:
				failed = append(failed, result.id)
			}
			select {
			case result, more = <-s.results:
			default:
				more = false
			}
		}
		s.finish(started)
		s.release(s.now().Add(jobRetryDelay), failed)
		s.release(s.now(), interrupted)
	}
}

func (s *jobStarts) finish(started []app.JobID) {
	if len(started) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.store.FinishJobs(ctx, started); err != nil {
		s.log.Error().Err(err).Int("jobs", len(started)).
			Msg("cannot record the starts of jobs; they will be repeated without effect")
	}
}

// release lets workers claim these jobs from until on.
func (s *jobStarts) release(until time.Time, jobs []app.JobID) {
	if len(jobs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.store.ReleaseJobs(ctx, until, jobs); err != nil {
		s.log.Error().Err(err).Int("jobs", len(jobs)).Msg("cannot release jobs; their lease will expire")
	}
}
