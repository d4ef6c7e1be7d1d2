package pg

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/uptrace/bun/migrate"
)

var (
	dropTables  = regexp.MustCompile(`(?m)^DROP TABLE (?:IF EXISTS )?([\w,\s]+?)(?: CASCADE)?;`)
	alterTable  = regexp.MustCompile(`(?m)^ALTER TABLE (\w+)\b([^;]*);`)
	dropColumns = regexp.MustCompile(`\bDROP COLUMN (?:IF EXISTS )?(\w+)`)
	deleteRows  = regexp.MustCompile(`(?m)^(?:DELETE FROM|TRUNCATE) (\w+)`)
)

// deletion is data that the down part of a migration deletes.
type deletion struct{ table, what string }

// deletionsOf returns the data that a statement of a migration deletes. A test compares it with the effect.
func deletionsOf(text string) (all []deletion) {
	for _, drop := range dropTables.FindAllStringSubmatch(text, -1) {
		for table := range strings.SplitSeq(drop[1], ",") {
			all = append(all, deletion{strings.TrimSpace(table), "table"})
		}
	}
	for _, alter := range alterTable.FindAllStringSubmatch(text, -1) {
		for _, column := range dropColumns.FindAllStringSubmatch(alter[2], -1) {
			all = append(all, deletion{alter[1], "column " + column[1]})
		}
	}
	for _, rows := range deleteRows.FindAllStringSubmatch(text, -1) {
		all = append(all, deletion{rows[1], "rows"})
	}
	return all
}

// deletions returns a line for each table, column and deletion of rows that the down parts of applied migrations
// contain, with the number of rows of the table. The number is PostgreSQL's estimate: forced row-level security hides
// the rows from the owner.
func (m *migrator) deletions(ctx context.Context, files fs.FS, group migrate.MigrationSlice) (string, error) {
	var all []deletion
	for _, migration := range group {
		names, err := fs.Glob(files, migration.String()+".*down.sql")
		if err != nil {
			return "", err
		}
		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return "", err
			}
			all = append(all, deletionsOf(string(text))...)
		}
	}
	slices.SortFunc(all, func(a, b deletion) int {
		return cmp.Or(strings.Compare(a.table, b.table), strings.Compare(a.what, b.what))
	})
	var lines strings.Builder
	for _, deleted := range all {
		var rows string
		err := m.db.QueryRowContext(ctx, `
			SELECT CASE WHEN pg_relation_size(c.oid) = 0 THEN 'no rows'
				WHEN greatest(c.reltuples, s.n_live_tup) > 0
					THEN format('about %s rows', greatest(c.reltuples, s.n_live_tup)::bigint)
				ELSE 'rows that PostgreSQL has not counted yet' END || ', ' || pg_size_pretty(pg_total_relation_size(c.oid))
			FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE c.oid = ?::regclass`,
			deleted.table).Scan(&rows)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "  %s: %s (%s)\n", deleted.table, deleted.what, rows)
	}
	return lines.String(), nil
}
