package delivery

import (
	"context"
	_ "embed" // for the statements
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// EnqueueJob enqueues a job. A relay starts the job's workflow after tx is committed.
func EnqueueJob(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.JobKind,
	subject string,
) error {
	return EnqueueJobs(ctx, tx, now, store, kind, []string{subject})
}

// EnqueueJobs is [EnqueueJob] for many subjects, in one statement.
func EnqueueJobs(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.JobKind,
	subjects []string,
) error {
	return enqueueJobs(ctx, tx, now, store, kind, kind.Urgent(), subjects)
}

// enqueueMailJob enqueues the job that sends a mail.
func enqueueMailJob(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.MailKind,
	id app.MailID,
) error {
	return enqueueJobs(ctx, tx, now, store, app.JobMail, kind.Urgent(), []string{string(id)})
}

func enqueueJobs(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.JobKind, urgent bool,
	subjects []string,
) error {
	if len(subjects) == 0 {
		return nil
	}
	ids := make([]string, len(subjects))
	for i := range subjects {
		ids[i] = string(app.NewID[app.JobID](now))
	}
	_, err := tx.Tx.ExecContext(ctx, `INSERT INTO jobs
			(id, store_id, queue, kind, subject, urgent, created_at, lease_until)
		SELECT j.id, $1, store_queue($1), $2, j.subject, $3, $4, $4
		FROM unnest($5::text[], $6::text[]) AS j (id, subject)`,
		store, kind, urgent, app.At(now).Time, ids, subjects)
	if err != nil {
		return err
	}
	return wakeJobs(ctx)
}

//go:embed queries/claim_jobs.sql
var claimJobsStatement string

// ClaimJobs claims jobs. Queues take turns, and the next call of this process continues after the last queue of this
// call; the jobs of a queue are claimed oldest first. A job that is not passed to FinishJobs within the lease can be
// claimed again.
func (q *Queue) ClaimJobs(ctx context.Context, now time.Time, claim app.JobClaim) ([]app.Job, error) {
	queues := slices.Sorted(maps.Keys(claim.Starting))
	starting := make([]int, len(queues))
	for i, queue := range queues {
		starting[i] = claim.Starting[queue]
	}
	turn := &q.jobTurns[0]
	if claim.Urgent {
		turn = &q.jobTurns[1]
	}
	rows, err := q.relay.System().DB.QueryContext(ctx, claimJobsStatement, now, now.Add(claim.Lease), claim.Urgent,
		turn.after(), claim.Limit, claim.PerQueue, queues, starting, q.policy.VisitQueues)
	if err != nil {
		return nil, pg.Classify(err)
	}
	defer rows.Close()
	var jobs []app.Job
	for rows.Next() {
		var last string
		j := app.Job{Urgent: claim.Urgent}
		if err := rows.Scan(&last, &j.ID, &j.Queue, &j.Kind, &j.StoreID, &j.Subject); err != nil {
			return nil, err
		}
		turn.endAt(last)
		if j.ID != "" {
			jobs = append(jobs, j)
		}
	}
	return jobs, pg.Classify(rows.Err())
}

// ReleaseJobs ends the leases of claims before their time, at until. A job that is no longer enqueued is ignored.
func (q *Queue) ReleaseJobs(ctx context.Context, until time.Time, ids []app.JobID) error {
	_, err := q.relay.System().DB.ExecContext(ctx, `UPDATE jobs SET lease_until = $2
		WHERE id = ANY ($1) AND lease_until > $2`, ids, until)
	return pg.Classify(err)
}

// FinishJobs deletes jobs whose workflows have started.
func (q *Queue) FinishJobs(ctx context.Context, ids []app.JobID) error {
	_, err := q.relay.System().DB.ExecContext(ctx, `DELETE FROM jobs WHERE id = ANY ($1)`, ids)
	return pg.Classify(err)
}
