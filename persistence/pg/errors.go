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

// SQLSTATE codes that mean something to us.
const (
	stateUniqueViolation       = "23505"
	stateSerializationFailure  = "40001"
	stateDeadlock              = "40P01"
	stateInsufficientPrivilege = "42501"
	stateFeatureNotSupported   = "0A000"
)

// Classify turns what database/sql and PostgreSQL say into what callers act on: no row is
// NOT_FOUND, a database out of reach is UNAVAILABLE (with its cause for the log). An
// *app.Error passes through, everything else stays an internal error.
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

// runsAgain reports whether a transaction that failed like that may succeed the next time: it
// lost a race, or was the first of its connection to learn that a migration has changed what
// a prepared statement returns.
func runsAgain(err error) bool {
	return hasState(err, stateSerializationFailure) || hasState(err, stateDeadlock) ||
		hasState(err, stateFeatureNotSupported) && strings.Contains(err.Error(), "cached plan must not change result type")
}

// IsDuplicate reports whether err says that a row would have been the second of its kind.
func IsDuplicate(err error) bool { return hasState(err, stateUniqueViolation) }

func hasState(err error, state string) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failed.Code == state
}
