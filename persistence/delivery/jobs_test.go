package delivery_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A job is one claimer's until its lease is over, and gone once it is finished.
func TestJobsAreClaimedUntilTheyAreFinished(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	for i, subject := range []string{"a", "b", "c"} {
		must(t, db.EnqueueJob(t.Context(), noon.Add(time.Duration(i)*time.Microsecond), store, "mail", subject))
	}
	claim := func(at time.Time, limit int) (subjects string, ids []app.JobID) {
		jobs, err := db.ClaimJobs(t.Context(), at, time.Minute, limit)
		must(t, err)
		for _, j := range jobs {
			if j.Kind != "mail" || j.StoreID != store {
				t.Errorf("claimed %+v", j)
			}
			subjects += j.Subject
			ids = append(ids, j.ID)
		}
		return subjects, ids
	}
	first, ids := claim(noon, 2)
	second, _ := claim(noon, 2)
	if first != "ab" || second != "c" {
		t.Errorf("claimed %q, then %q", first, second)
	}
	must(t, db.FinishJobs(t.Context(), ids))
	if early, _ := claim(noon.Add(time.Minute-time.Millisecond), 2); early != "" {
		t.Errorf("claimed %q within its lease", early)
	}
	if again, _ := claim(noon.Add(time.Minute), 2); again != "c" {
		t.Errorf("claimed %q after the lease", again)
	}
}
