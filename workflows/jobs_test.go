package workflows

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// jobList is a JobStore in memory without leases: unfinished jobs are claimed again.
type jobList struct {
	sync.Mutex
	waiting []app.Job
	done    chan struct{} // closed when no job is left
}

func (l *jobList) ClaimJobs(_ context.Context, _ time.Time, _ time.Duration, limit int) ([]app.Job, error) {
	l.Lock()
	defer l.Unlock()
	return slices.Clone(l.waiting[:min(limit, len(l.waiting))]), nil
}

func (l *jobList) FinishJobs(_ context.Context, ids []app.JobID) error {
	l.Lock()
	defer l.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(j app.Job) bool { return slices.Contains(ids, j.ID) })
	if len(l.waiting) == 0 {
		close(l.done)
	}
	return nil
}

// A job whose workflow could not be started is started again; other jobs are not.
func TestJobsRetryFailedStarts(t *testing.T) {
	t.Parallel()
	list := &jobList{done: make(chan struct{})}
	list.waiting = []app.Job{{ID: "1", Kind: "mail"}, {ID: "2", Kind: "mail"}, {ID: "3", Kind: "mail"}}
	ctx, cancel := context.WithCancel(t.Context())
	var tried []app.JobID
	jobs := NewJobs(list, func(_ context.Context, job app.Job) error {
		tried = append(tried, job.ID)
		if job.ID == "2" && len(tried) < 4 {
			return errors.New("Temporal is away")
		}
		return nil
	}, time.Now, zerolog.Nop())
	go func() { <-list.done; cancel() }()
	jobs.Wake()
	jobs.Run(ctx)
	if !slices.Equal(tried, []app.JobID{"1", "2", "3", "2"}) {
		t.Errorf("started %q, want 1, 2, 3, and 2 again", tried)
	}
}
