package pg

import (
	"context"
	"sync/atomic"
	"time"
)

// clockPause is the time between two readings of the database's clock.
const clockPause = time.Second

// clock follows the clock of the database, so that all processes agree on the times of leases and windows although the
// clocks of their hosts differ. Between two readings it uses the monotonic clock of the process. It is behind the
// database by at most the duration of the quickest reading, and not ahead: what it dates has happened before the
// database shows that time.
type clock struct{ last atomic.Pointer[reading] }

// reading is a time of the database, which was read before a monotonic time of the process.
type reading struct{ database, process time.Time }

// now returns the time of the database, or that of the process before the first reading.
func (c *clock) now() time.Time {
	last := c.last.Load()
	if last == nil {
		return time.Now()
	}
	return last.at(time.Now())
}

func (r *reading) at(process time.Time) time.Time { return r.database.Add(process.Sub(r.process)) }

// correct applies a reading, unless the time of the clock is one that the database may have had when the reading ended,
// and is later than that of the reading.
func (c *clock) correct(database, began, ended time.Time) {
	next := &reading{database.Round(0), ended}
	last := c.last.Load()
	if last != nil {
		if ahead := last.at(ended).Sub(next.database); ahead >= 0 && ahead <= ended.Sub(began) {
			return
		}
	}
	c.last.Store(next)
}

// Now returns the time by the clock of the database as of the last [DB.ReadClock]; before, that of the process. The
// difference of two such times is no duration: the clock of the database may be set.
func (db *DB) Now() time.Time { return db.clock.now() }

// ReadClock reads the clock of the database once.
func (db *DB) ReadClock(ctx context.Context) error {
	var database time.Time
	began := time.Now()
	err := db.For(Lookups).For(Deadlines).system.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&database)
	if err != nil {
		return Classify(err)
	}
	db.clock.correct(database, began, time.Now())
	return nil
}

// FollowClock reads the clock of the database every second until ctx is done. While the database is unreachable, the
// time passes by the monotonic clock of the process.
func (db *DB) FollowClock(ctx context.Context) {
	for sleep(ctx, clockPause) == nil {
		_ = db.ReadClock(ctx) // the next reading may succeed
	}
}
