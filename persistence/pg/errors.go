package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/comanda-dev/comanda/app"
)

// SQLSTATE codes that this package handles.
const (
	stateForeignKeyViolation   = "23503"
	stateUniqueViolation       = "23505"
	stateSerializationFailure  = "40001"
	stateDeadlock              = "40P01"
	stateLockNotAvailable      = "55P03"
	stateQueryCancelled        = "57014"
	stateInsufficientPrivilege = "42501"
	stateFeatureNotSupported   = "0A000"
	stateIdleInTransaction     = "25P03"
)

// Classify maps errors of database/sql and PostgreSQL to errors with codes: no row to NOT_FOUND, an
// unreachable or too slow database to UNAVAILABLE, which also wraps the cause for the log. It returns every other
// error, also an *app.Error, unchanged.
func Classify(err error) error {
	switch {
	case err == nil:
		return nil
	case app.CodeOf(err) != app.CodeInternal:
		return err
	case errors.Is(err, sql.ErrNoRows):
		return app.NotFound()
	case OutOfReach(err):
		return fmt.Errorf("%w: %w", app.Unavailable(time.Second), err)
	}
	return err
}

// OutOfReach reports whether err means that the database cannot be reached, or did not respond within the limits of the
// [Pool].
func OutOfReach(err error) bool {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch failed.Code[:2] {
		case "08", "53": // connection exception, insufficient resources
			return true
		}
		return failed.Code == stateQueryCancelled || failed.Code == stateLockNotAvailable ||
			failed.Code == stateIdleInTransaction ||
			strings.HasPrefix(failed.Code, "57P") // shutting down, crashed, starting
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNoConnection) || pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "conn closed")
}

// IsLocked reports whether err means that another transaction held a lock for longer than the limit of the [Pool].
func IsLocked(err error) bool { return hasState(err, stateLockNotAvailable) }

// isRetryable reports whether a transaction that failed with err can succeed if it is repeated: after
// a serialization failure, after a deadlock, after a concurrent transaction has deleted a row to which
// it refers, or after a migration has changed the result type of a prepared statement.
func isRetryable(err error) bool {
	return hasState(err, stateSerializationFailure) || hasState(err, stateDeadlock) ||
		hasState(err, stateForeignKeyViolation) ||
		hasState(err, stateFeatureNotSupported) &&
			strings.Contains(err.Error(), "cached plan must not change result type")
}

// Inserted reports whether an INSERT with ON CONFLICT DO NOTHING has inserted a row. Without that clause, PostgreSQL
// logs the key of a row that violates a unique index, except for tables with row-level security.
func Inserted(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// IsDuplicate reports whether err is a violation of a unique index. The index must be of a table with row-level
// security; see [Inserted].
func IsDuplicate(err error) bool { return hasState(err, stateUniqueViolation) }

// IsDuplicateIn is [IsDuplicate] for one unique index.
func IsDuplicateIn(err error, index string) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failed.Code == stateUniqueViolation && failed.ConstraintName == index
}

func hasState(err error, state string) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failed.Code == state
}
