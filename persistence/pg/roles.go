package pg

import (
	"context"
	"fmt"
)

// CheckRole returns an error if the login role can bypass row-level security. The login role, [RoleApp] and
// [RoleSystem] must not have an attribute that permits this, must not own tables, and must not be members of other
// roles. Such a role can have the right now or get it later, for example pg_read_all_data.
func (db *DB) CheckRole(ctx context.Context) error {
	for _, check := range []func(context.Context) error{db.checkAttributes, db.checkOwner, db.checkMemberships} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkAttributes refuses attributes with which a role can bypass row-level security, or give itself rights.
func (db *DB) checkAttributes(ctx context.Context) error {
	rows, err := db.app.DB.QueryContext(ctx, `SELECT rolname, CASE
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
func (db *DB) checkOwner(ctx context.Context) error {
	var login string
	var owner bool
	err := db.app.DB.QueryRowContext(ctx, `SELECT session_user, EXISTS (SELECT FROM pg_class c
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
func (db *DB) checkMemberships(ctx context.Context) error {
	rows, err := db.app.DB.QueryContext(ctx, `WITH RECURSIVE granted AS (
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
