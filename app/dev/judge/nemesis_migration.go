package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// further are the migrations of a release to come, which follow the rules of CONTRIBUTING.md#common-changes. The tables
// are those with the most changes.
var further = map[string]string{
	"20990101_judge_columns.tx.up.sql": `
		ALTER TABLE deliveries ADD COLUMN judged_at timestamptz, ADD COLUMN verdict text NOT NULL DEFAULT 'none';
		ALTER TABLE orders ADD COLUMN verdict text NOT NULL DEFAULT 'none',
			ADD CONSTRAINT orders_verdict CHECK (verdict <> '') NOT VALID;
		ALTER TABLE subscriptions ADD COLUMN verdict text`,
	"20990101_judge_columns.tx.down.sql": `
		ALTER TABLE subscriptions DROP COLUMN verdict;
		ALTER TABLE orders DROP COLUMN verdict;
		ALTER TABLE deliveries DROP COLUMN judged_at, DROP COLUMN verdict`,
	"20990102_judge_index.up.sql": `DROP INDEX CONCURRENTLY IF EXISTS deliveries_judged;
--bun:split
CREATE INDEX CONCURRENTLY deliveries_judged ON deliveries (store_id, judged_at) WHERE judged_at IS NOT NULL;
--bun:split
ALTER TABLE orders VALIDATE CONSTRAINT orders_verdict;
`,
	"20990102_judge_index.down.sql": "DROP INDEX CONCURRENTLY IF EXISTS deliveries_judged;\n",
}

// buildNext builds a release with further migrations.
func buildNext(ctx context.Context, w *world) error {
	dir, err := harness.SourceOf(ctx, "github.com/comanda-dev/comanda/persistence/migrations")
	if err != nil {
		return err
	}
	files := map[string]string{}
	for name, text := range further {
		files[filepath.Join(dir, name)] = text
	}
	w.next, err = harness.BuildWith(ctx, w.dir, "comanda-next", files)
	return err
}

// migrate runs the migrations of the next release up while the present release runs, and down again.
func migrate(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (detail string, err error) {
	begin := time.Now()
	err = w.migrate(ctx, "up")
	detail = fmt.Sprintf("up took %s", time.Since(begin).Round(time.Millisecond))
	if err == nil {
		err = wait(ctx, lasts)
	}
	return detail, errors.Join(err, w.migrate(ctx, "down", "--delete-data"))
}

// migrate runs the command migrate of the next release as the owner of the database.
func (w *world) migrate(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	command := exec.CommandContext(ctx, w.next, append([]string{"migrate"}, args...)...)
	command.Env = append(os.Environ(), "DATABASE_URL="+databaseAt(w.infra.Ready.OwnerDatabaseURL, w.address(postgresPort)))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate %v: %w: %s", args, err, out)
	}
	return nil
}
