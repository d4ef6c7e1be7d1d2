package pg

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"time"
)

// MigrateFiles is Migrate with other migrations and shorter waits.
func MigrateFiles(ctx context.Context, ownerURL string, files fs.FS, limit time.Duration, out io.Writer) error {
	return migrationSet{files, waits{timeout: lockTimeout, pause: 100 * time.Millisecond, limit: limit}}.
		up(ctx, ownerURL, out)
}

// DeletionsOf returns the data that a statement deletes, sorted.
func DeletionsOf(text string) (all []string) {
	for _, deleted := range deletionsOf(text) {
		all = append(all, deleted.table+": "+deleted.what)
	}
	slices.Sort(all)
	return all
}

// SetClock sets the clock of the database, until the next reading.
func (db *DB) SetClock(now time.Time) { db.clock.last.Store(&reading{now, time.Now()}) }
