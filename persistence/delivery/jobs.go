package delivery

import (
	"context"
	_ "embed" // for the statement
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// EnqueueJob enqueues a job. A relay starts the job's workflow after tx is committed.
func EnqueueJob(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.JobKind,
	subject string,
) error {
	_, err := tx.NewRaw(`INSERT INTO jobs (id, store_id, kind, subject, created_at, lease_until)
		VALUES (?0, ?1, ?2, ?3, ?4, ?4)`, app.NewID[app.JobID](now), store, kind, subject, app.At(now).Time).Exec(ctx)
	if err != nil {
		return err
	}
	return wakeRelays(ctx)
}

//go:embed queries/enqueue_lost.sql
var enqueueLostStatement string

// EnqueueLostJobs enqueues jobs again whose workflows may be lost, and returns their number:
//
//   - jobs that are unfinished for longer than after, including deactivations with queued deliveries
//   - mails that were not attempted for Policy.MailOverdue
//   - products whose soldOutUntil, and orders whose next deadline of acceptance, passed more than after ago
//
// A job whose workflow is open has no effect. Failing subscriptions get a new watchdog in [Queue.RecordAttempt].
func (q *Queue) EnqueueLostJobs(ctx context.Context, now time.Time, after time.Duration) (n int, err error) {
	err = q.pg.System().DB.QueryRowContext(ctx, enqueueLostStatement, now, after, q.policy.MailOverdue,
		app.JobTeardown, app.JobReplay, app.JobMail, q.policy.LostJobs, app.JobSoldOut, app.JobErasure,
		app.JobAcceptance, app.JobDeactivation).Scan(&n)
	return n, pg.Classify(err)
}

// ClaimJobs claims jobs, oldest first, at most limit. A job that is not passed to FinishJobs within
// the lease can be claimed again.
func (q *Queue) ClaimJobs(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]app.Job, error) {
	rows, err := q.pg.System().DB.QueryContext(ctx, `
		WITH free AS MATERIALIZED (
			SELECT id FROM jobs WHERE lease_until <= $1 ORDER BY lease_until, id LIMIT $3 FOR UPDATE SKIP LOCKED
		)
		UPDATE jobs SET lease_until = $2 FROM free WHERE jobs.id = free.id
		RETURNING jobs.id, kind, store_id, subject`, now, now.Add(lease), limit)
	if err != nil {
		return nil, pg.Classify(err)
	}
	defer rows.Close()
	var jobs []app.Job
	for rows.Next() {
		var j app.Job
		if err := rows.Scan(&j.ID, &j.Kind, &j.StoreID, &j.Subject); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, pg.Classify(rows.Err())
}

// FinishJobs deletes jobs whose workflows have started.
func (q *Queue) FinishJobs(ctx context.Context, ids []app.JobID) error {
	_, err := q.pg.System().DB.ExecContext(ctx, `DELETE FROM jobs WHERE id = ANY ($1)`, ids)
	return pg.Classify(err)
}
