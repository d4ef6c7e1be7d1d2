package main

import (
	"context"
	_ "embed" // for the statements
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed watch.sql
var watchStatements string

// watch begins the log of commits, which loadState reads, in the database of a URL of a superuser. Changes that were
// committed before are unknown to the checkers.
func watch(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, watchStatements)
	return err
}

// logged identifies a row of the log.
type logged struct {
	Number int64     `json:"-"` // ascending by row that was changed, not by commit
	At     time.Time `json:"-"` // by the clock of PostgreSQL
	XID    uint64    `json:"-"` // of the transaction
	Seen   snapshot  `json:"-"` // when the row was written
}

// sees reports whether the transaction of another row is this one, or was committed before this row was written.
func (l logged) sees(other logged) bool { return other.XID == l.XID || l.Seen.includes(other.XID) }

// snapshot is a pg_snapshot: the transactions that are committed at a moment.
type snapshot struct {
	least, next uint64   // each one below least has ended, none from next on
	running     []uint64 // between them
}

// includes reports whether a transaction that was committed had been committed by then.
func (s snapshot) includes(xid uint64) bool {
	if xid < s.least || xid >= s.next {
		return xid < s.least
	}
	for _, running := range s.running {
		if running == xid {
			return false
		}
	}
	return true
}

// parseSnapshot parses the text of a pg_snapshot, for example "10:20:10,14".
func parseSnapshot(text string) (s snapshot, err error) {
	parts := strings.SplitN(text, ":", 3)
	parse := func(number string) (n uint64) {
		if err == nil {
			n, err = strconv.ParseUint(number, 10, 64)
		}
		return n
	}
	if s.least = parse(parts[0]); err == nil && len(parts) != 3 {
		err = strconv.ErrSyntax
	}
	if err != nil {
		return s, err
	}
	s.next = parse(parts[1])
	for running := range strings.SplitSeq(parts[2], ",") {
		if running != "" {
			s.running = append(s.running, parse(running))
		}
	}
	return s, err
}
