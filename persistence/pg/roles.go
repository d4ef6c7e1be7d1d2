package pg

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// CheckRole returns an error if a login role can bypass row-level security. The login roles, [RoleApp] and [RoleSystem]
// must not have an attribute that permits this, must not own tables, and must not be members of other roles. Such a
// role can have the right now or get it later, for example pg_read_all_data. With two logins, that of [RoleApp] must
// not be able to become [RoleSystem], and both must be of the same database. The error is UNAVAILABLE if the database
// does not respond.
func (db *DB) CheckRole(ctx context.Context) error {
	for _, role := range roles {
		if err := db.checkConnection(ctx, db.first(role)); err != nil {
			return fmt.Errorf("%s: %w", db.config.variable(role), err)
		}
	}
	if err := db.checkDatabase(ctx); err != nil {
		return err
	}
	checks := []func(context.Context, *pool) error{checkAttributes, checkOwner, checkMemberships}
	for _, role := range roles {
		for _, check := range checks {
			if err := check(ctx, db.first(role)); err != nil {
				return fmt.Errorf("%s: %w", db.config.variable(role), err)
			}
		}
	}
	if db.config.SystemURL == "" {
		return nil
	}
	return db.checkSeparation(ctx)
}

// checkConnection connects, and explains the refusal of a login that is not a member of the pool's role.
func (db *DB) checkConnection(ctx context.Context, p *pool) error {
	_, err := p.db.DB.ExecContext(ctx, "SELECT 1")
	if hasState(err, stateInsufficientPrivilege) {
		hint := ""
		if p.limits.Role == RoleSystem && db.config.SystemURL == "" {
			hint = "set COMANDA_SYSTEM_DATABASE_URL to a login that is one, or use this login for both roles: "
		}
		return fmt.Errorf("%w; the login must be a member of %s: %sGRANT %[2]s TO %[4]s", err, p.limits.Role, hint,
			pgx.Identifier{p.login()}.Sanitize())
	}
	return Classify(err)
}

// checkDatabase returns an error if two URLs do not name the same database: a lock that the connection of one login
// holds must be taken for the other. A standby, or a restored copy, has the same identifiers but separate locks.
func (db *DB) checkDatabase(ctx context.Context) error {
	if db.config.SystemURL == "" {
		return nil
	}
	store, system := db.first(RoleApp), db.first(RoleSystem)
	tx, err := store.db.DB.BeginTx(ctx, nil)
	if err != nil {
		return Classify(err)
	}
	defer tx.Rollback()  //nolint:errcheck // it only releases the lock
	lock := rand.Int64() //nolint:gosec // no secret: other processes check at the same time
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", lock); err != nil {
		return Classify(err)
	}
	var free bool
	err = system.db.DB.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", lock).Scan(&free)
	if err != nil {
		return Classify(err)
	}
	if free {
		return fmt.Errorf("COMANDA_SYSTEM_DATABASE_URL: must name the same database as DATABASE_URL; "+
			"they name %s and %s", system.address(), store.address())
	}
	return nil
}

// checkSeparation refuses a login of [RoleApp] that can become [RoleSystem].
func (db *DB) checkSeparation(ctx context.Context) error {
	login := db.first(RoleApp).login()
	if login == db.first(RoleSystem).login() {
		return fmt.Errorf("COMANDA_SYSTEM_DATABASE_URL: must name another login role than DATABASE_URL, not %q", login)
	}
	var revocations string
	err := db.first(RoleApp).db.DB.QueryRowContext(ctx, `WITH RECURSIVE granted AS (
			SELECT oid FROM pg_roles WHERE rolname = session_user
			UNION SELECT m.roleid FROM pg_auth_members m JOIN granted ON granted.oid = m.member
		) SELECT coalesce(string_agg(DISTINCT format('REVOKE %I FROM %I', system.rolname, member.rolname), '; '), '')
		FROM granted JOIN pg_roles member USING (oid) JOIN pg_auth_members m ON m.member = granted.oid
		JOIN pg_roles system ON system.oid = m.roleid WHERE system.rolname = $1`, RoleSystem).Scan(&revocations)
	if err != nil {
		return Classify(err)
	}
	if revocations != "" {
		return fmt.Errorf("DATABASE_URL: the database role %q can become %s, which sees the rows of all stores; "+
			"COMANDA_SYSTEM_DATABASE_URL is the login for it, so run: %s", login, RoleSystem, revocations)
	}
	return nil
}

// checkAttributes refuses attributes with which a role can bypass row-level security, or give itself rights.
func checkAttributes(ctx context.Context, p *pool) error {
	rows, err := p.db.DB.QueryContext(ctx, `SELECT rolname, CASE
			WHEN rolsuper THEN 'is a superuser'
			WHEN rolbypassrls THEN 'can bypass row-level security (BYPASSRLS)'
			WHEN rolcreaterole THEN 'can create and grant roles (CREATEROLE)'
			ELSE 'can replicate all data (REPLICATION)' END
		FROM pg_roles WHERE rolname IN (session_user, $1, $2)
			AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolreplication) ORDER BY rolname`, RoleApp, RoleSystem)
	if err != nil {
		return Classify(err)
	}
	defer rows.Close()
	if rows.Next() {
		var role, right string
		if err := rows.Scan(&role, &right); err != nil {
			return err
		}
		return fmt.Errorf("the database role %q %s; use an ordinary role", role, right)
	}
	return Classify(rows.Err())
}

// checkOwner refuses a login role that owns tables or is a member of their owner.
func checkOwner(ctx context.Context, p *pool) error {
	var login string
	var owner bool
	err := p.db.DB.QueryRowContext(ctx, `SELECT session_user, EXISTS (SELECT FROM pg_class c
		WHERE c.relnamespace = 'public'::regnamespace AND pg_has_role(session_user, c.relowner, 'MEMBER'))`).
		Scan(&login, &owner)
	if err != nil {
		return Classify(err)
	}
	if owner {
		return fmt.Errorf(
			"the database role %q owns tables of Comanda, or is a member of their owner; use another role", login)
	}
	return nil
}

// checkMemberships refuses roles other than the two of which the login role is a member, directly or not.
func checkMemberships(ctx context.Context, p *pool) error {
	rows, err := p.db.DB.QueryContext(ctx, `WITH RECURSIVE granted AS (
			SELECT oid FROM pg_roles WHERE rolname IN (session_user, $1, $2)
			UNION SELECT m.roleid FROM pg_auth_members m JOIN granted ON granted.oid = m.member
		) SELECT session_user, rolname FROM granted JOIN pg_roles USING (oid)
		WHERE rolname NOT IN (session_user, $1, $2) ORDER BY rolname`, RoleApp, RoleSystem)
	if err != nil {
		return Classify(err)
	}
	defer rows.Close()
	if rows.Next() {
		var login, role string
		if err := rows.Scan(&login, &role); err != nil {
			return err
		}
		return fmt.Errorf("the database role %q is a member of %q; it must be a member of %s and %s only", login, role,
			RoleApp, RoleSystem)
	}
	return Classify(rows.Err())
}
