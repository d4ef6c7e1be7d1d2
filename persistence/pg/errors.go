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

// SQLSTATE codes that have a meaning here.
const (
	stateUniqueViolation       = "23505"
	stateSerializationFailure  = "40001"
	stateDeadlock              = "40P01"
	stateInsufficientPrivilege = "42501"
	stateFeatureNotSupported   = "0A000"
)

// Classify maps errors of database/sql and PostgreSQL to errors that callers act on. No row is
// NOT_FOUND. A database that cannot be reached is UNAVAILABLE, with its cause for the log. An
// *app.Error passes through. Any other error stays an internal error.
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

// OutOfReach reports whether err means that the database cannot be reached.
func OutOfReach(err error) bool {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch failed.Code[:2] {
		case "08", "53": // connection exception, insufficient resources
			return true
		}
		return strings.HasPrefix(failed.Code, "57P") // shutting down, crashed, starting
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) || strings.Contains(err.Error(), "unexpected EOF") ||
		strings.Contains(err.Error(), "conn closed")
}

// runsAgain reports whether a transaction that failed with err may succeed if it is repeated: after
// a serialization failure, after a deadlock, or because a migration has changed the result type of
// a statement that the connection has prepared.
func runsAgain(err error) bool {
	return hasState(err, stateSerializationFailure) || hasState(err, stateDeadlock) ||
		hasState(err, stateFeatureNotSupported) && strings.Contains(err.Error(), "cached plan must not change result type")
}

// IsDuplicate reports whether err is a violation of a unique index.
func IsDuplicate(err error) bool { return hasState(err, stateUniqueViolation) }

func hasState(err error, state string) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failed.Code == state
}
