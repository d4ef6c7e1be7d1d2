package identity

import (
	"context"
	"database/sql"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/otp"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// otpState is the state of a user's one-time passwords.
type otpState struct {
	sealed    []byte
	pendingAt sql.NullTime
	on        bool
	lastStep  int64
}

// lockOTP locks a user and returns the state of the user's one-time passwords.
func lockOTP(ctx context.Context, tx bun.Tx, user app.UserID) (otpState, error) {
	var state otpState
	err := tx.Tx.QueryRowContext(ctx, `SELECT otp_secret, otp_pending_at, otp_enabled_at IS NOT NULL, otp_last_step
		FROM users WHERE id = $1 FOR UPDATE`, user).
		Scan(&state.sealed, &state.pendingAt, &state.on, &state.lastStep)
	return state, err
}

// inOTP runs f in a transaction that has locked the user and the living session of a principal. It returns
// TOKEN_REVOKED if the session has ended.
func (db *DB) inOTP(
	ctx context.Context, p app.Principal, f func(ctx context.Context, tx bun.Tx, state otpState) error,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockSession(ctx, tx, p); err != nil {
			return err
		}
		state, err := lockOTP(ctx, tx, p.UserID)
		if err != nil {
			return err
		}
		return f(ctx, tx, state)
	})
}

// BeginOTP stores the secret of a user whose one-time passwords are not on. The secret is pending for
// otp.SetupTTL and replaces an earlier pending one. It returns CONFLICT if one-time passwords are on.
func (db *DB) BeginOTP(ctx context.Context, now time.Time, p app.Principal, secret app.Secret) error {
	return db.inOTP(ctx, p, func(ctx context.Context, tx bun.Tx, state otpState) error {
		if state.on {
			return app.Errorf(app.CodeConflict, "one-time passwords are already on; switch them off first")
		}
		_, err := tx.Tx.ExecContext(ctx, `UPDATE users SET otp_secret = $1, otp_pending_at = $2, otp_last_step = 0
			WHERE id = $3`, db.sealer.Seal(secret, string(p.UserID)), now, p.UserID)
		return err
	})
}

// CheckOTPSetup returns the errors of [DB.ConfirmOTP] for a code, without any effect.
func (db *DB) CheckOTPSetup(ctx context.Context, now time.Time, p app.Principal, code app.Secret) error {
	return db.inOTP(ctx, p, func(_ context.Context, _ bun.Tx, state otpState) error {
		_, err := db.pendingStep(now, p, state, code)
		return err
	})
}

// pendingStep returns the step of the first code of a pending secret. Its errors are those of [DB.ConfirmOTP].
func (db *DB) pendingStep(now time.Time, p app.Principal, state otpState, code app.Secret) (int64, error) {
	if !state.pendingAt.Valid || !now.Before(state.pendingAt.Time.Add(otp.SetupTTL)) {
		return 0, app.Errorf(app.CodeConflict, "no setup of one-time passwords is pending; start with POST /auth/otp")
	}
	secret, err := db.sealer.Open(state.sealed, string(p.UserID))
	if err != nil {
		return 0, err
	}
	step, ok, err := otp.Match(secret, code, now, state.lastStep)
	if err == nil && !ok {
		err = app.Invalid("code", "is wrong; enter the current code and check the clock of the device")
	}
	return step, err
}

// ConfirmOTP switches a user's one-time passwords on with the first code of the pending secret, which it uses
// up, and stores the hashes of the recovery codes, which have one salt. It returns CONFLICT if no setup is pending, and
// VALIDATION_FAILED for a wrong code.
func (db *DB) ConfirmOTP(
	ctx context.Context, now time.Time, by app.Actor, p app.Principal, code app.Secret, recovery []string,
) error {
	return db.inOTP(ctx, p, func(ctx context.Context, tx bun.Tx, state otpState) error {
		step, err := db.pendingStep(now, p, state, code)
		if err != nil {
			return err
		}
		_, err = tx.Tx.ExecContext(ctx, `UPDATE users SET otp_pending_at = NULL, otp_enabled_at = $1,
				otp_last_step = $2,
				recovery_hashes = $3
			WHERE id = $4`, now, step, recovery, p.UserID)
		if err != nil {
			return err
		}
		return pg.AuditUser(ctx, tx, now, p.UserID, by, app.AuditOTPEnabled, string(p.UserID), nil)
	})
}

// CheckOTP returns CONFLICT if a user's one-time passwords are off.
func (db *DB) CheckOTP(ctx context.Context, p app.Principal) error {
	return db.inOTP(ctx, p, func(_ context.Context, _ bun.Tx, state otpState) error { return state.mustBeOn() })
}

func (s otpState) mustBeOn() error {
	if !s.on {
		return app.Errorf(app.CodeConflict, "one-time passwords are not on; start with POST /auth/otp")
	}
	return nil
}

// ReplaceRecoveryCodes replaces the hashes of all recovery codes of a user. It returns CONFLICT unless one-time
// passwords are on.
func (db *DB) ReplaceRecoveryCodes(
	ctx context.Context, now time.Time, by app.Actor, p app.Principal, recovery []string,
) error {
	return db.inOTP(ctx, p, func(ctx context.Context, tx bun.Tx, state otpState) error {
		if err := state.mustBeOn(); err != nil {
			return err
		}
		_, err := tx.Tx.ExecContext(ctx, `UPDATE users SET recovery_hashes = $1 WHERE id = $2`, recovery,
			p.UserID)
		if err != nil {
			return err
		}
		return pg.AuditUser(ctx, tx, now, p.UserID, by, app.AuditRecoveryCodesReplaced, string(p.UserID), nil)
	})
}

// DisableOTP switches a user's one-time passwords off. It returns NOT_FOUND if they are not on.
func (db *DB) DisableOTP(ctx context.Context, now time.Time, by app.Actor, p app.Principal) error {
	return db.inOTP(ctx, p, func(ctx context.Context, tx bun.Tx, state otpState) error {
		if err := removeOTP(ctx, tx, p.UserID, state); err != nil {
			return err
		}
		return pg.AuditUser(ctx, tx, now, p.UserID, by, app.AuditOTPDisabled, string(p.UserID), nil)
	})
}

// ResetOTP is [DB.DisableOTP] for a user who cannot log in, by the operator.
func (db *DB) ResetOTP(ctx context.Context, now time.Time, user app.UserID) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		state, err := lockOTP(ctx, tx, user)
		if err != nil {
			return err
		}
		if err := removeOTP(ctx, tx, user, state); err != nil {
			return err
		}
		return pg.AuditOperator(ctx, tx, now, user, app.Actor{}, app.AuditOTPReset, nil)
	})
}

// removeOTP switches one-time passwords off, NOT_FOUND if they are not on.
func removeOTP(ctx context.Context, tx bun.Tx, user app.UserID, state otpState) error {
	if !state.on {
		return app.Errorf(app.CodeNotFound, "one-time passwords are not on")
	}
	_, err := tx.Tx.ExecContext(ctx, `UPDATE users SET `+withoutOTP+` WHERE id = $1`, user)
	return err
}

// withoutOTP are the assignments that switch one-time passwords off.
const withoutOTP = `otp_secret = NULL, otp_pending_at = NULL, otp_enabled_at = NULL, otp_last_step = 0,
	recovery_hashes = '{}'`

// RecoveryHash returns the hash of one of the unused recovery codes of a user, which all have its salt, "" if there is
// none. It returns RATE_LIMITED if the budget of failures of [OTPUse] is used up.
func (db *DB) RecoveryHash(ctx context.Context, user app.UserID, failures Budget) (hash string, err error) {
	err = db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		err := tx.Tx.QueryRowContext(ctx, `SELECT coalesce(recovery_hashes[1], '') FROM users WHERE id = $1`, user).
			Scan(&hash)
		if err != nil || hash == "" {
			return err
		}
		return otpFailures(ctx, tx, checkOTPFailures, failures)
	})
	return hash, err
}

// OTPUse is the use of a one-time password.
type OTPUse struct {
	Code     app.Secret
	Recovery string // hash of a recovery code; "" = Code is of an authenticator
	Failures Budget // of wrong codes
}

// checkOTP uses up a code of a user, or the recovery code with a hash. It does nothing if one-time passwords are
// disabled. A refusal is OTP_REQUIRED for an empty code, or INVALID_CREDENTIALS for a wrong or used one, which counts
// against the budget of failures if the transaction is committed. The error is RATE_LIMITED while that budget is used
// up.
func (db *DB) checkOTP(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, user app.User, use OTPUse,
) (refusal, err error) {
	state, err := lockOTP(ctx, tx, user.ID)
	if err != nil || !state.on {
		return nil, err
	}
	if use.Code.Len() == 0 {
		return app.Errorf(app.CodeOTPRequired, "this account requires a one-time password; send it as otp"), nil
	}
	if err := otpFailures(ctx, tx, checkOTPFailures, use.Failures); err != nil {
		return nil, err
	}
	ok, err := db.useOTP(ctx, tx, now, by, user, state, use)
	if err != nil || ok {
		return nil, err
	}
	refusal = app.Errorf(app.CodeInvalidCredentials, "the one-time password is incorrect or already used")
	return refusal, otpFailures(ctx, tx, countOTPFailure, use.Failures)
}

const (
	checkOTPFailures = `SELECT ceil(extract(epoch FROM
		rate_limit_wait($1, $2, $3 * interval '1 microsecond', clock_timestamp())) * 1000000)::bigint`
	countOTPFailure = `SELECT ceil(extract(epoch FROM
		take_rate_limits($1, $2, $3 * interval '1 microsecond')) * 1000000)::bigint`
)

// otpFailures reads the budget of failures or takes from it. It returns RATE_LIMITED if the budget is used up.
func otpFailures(ctx context.Context, tx bun.Tx, query string, failures Budget) error {
	var wait sql.NullInt64
	err := tx.Tx.QueryRowContext(ctx, query, [][]byte{failures.Key}, []int{failures.Most},
		otp.FailureWindow.Microseconds()).Scan(&wait)
	if err == nil && wait.Int64 > 0 {
		return app.RateLimited(time.Duration(wait.Int64) * time.Microsecond)
	}
	return err
}

// useOTP reports whether a code or a recovery code of a locked user is right and unused, and uses it up.
func (db *DB) useOTP(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, user app.User, state otpState, use OTPUse,
) (bool, error) {
	if otp.IsCode(use.Code) {
		secret, err := db.sealer.Open(state.sealed, string(user.ID))
		if err != nil {
			return false, err
		}
		step, ok, err := otp.Match(secret, use.Code, now, state.lastStep)
		if err != nil || !ok {
			return false, err
		}
		_, err = tx.Tx.ExecContext(ctx, `UPDATE users SET otp_last_step = $1 WHERE id = $2`, step, user.ID)
		return err == nil, err
	}
	result, err := tx.Tx.ExecContext(ctx, `UPDATE users SET recovery_hashes = array_remove(recovery_hashes, $1)
		WHERE id = $2 AND $1 = ANY (recovery_hashes)`, use.Recovery, user.ID)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	return true, pg.AuditUser(ctx, tx, now, user.ID, by.As(user), app.AuditRecoveryCodeUsed, string(user.ID), nil)
}
