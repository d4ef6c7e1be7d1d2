package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Roles. The product connects as appLogin and systemLogin, whose only privileges are to become appRole and systemRole.
// Migrations run as ownerRole, which owns the tables of the product.
const (
	appLogin     = "comanda_login"
	systemLogin  = "comanda_system_login"
	appRole      = "comanda_app"
	systemRole   = "comanda_system"
	ownerRole    = "comanda_owner"
	temporalRole = "temporal"
)

// roles lists all roles with their attributes. Roles that can log in also get a password.
var roles = [...]struct{ name, attributes string }{
	{appRole, "NOLOGIN"},
	{systemRole, "NOLOGIN"},
	{appLogin, "LOGIN NOINHERIT"},
	{systemLogin, "LOGIN NOINHERIT"},
	{ownerRole, "LOGIN"},
	{temporalRole, "LOGIN"},
}

const (
	productDatabase    = "comanda"
	temporalDatabase   = "temporal"
	visibilityDatabase = "temporal_visibility"
)

// databases are the URLs of the databases, each with the role of the part that uses it.
type databases struct {
	product, system, owner            string
	temporalStore, temporalVisibility string
}

// setUpDatabases creates the missing roles and databases of a PostgreSQL server and sets the passwords in passwordFile,
// which it creates if necessary. The user of adminURL must be able to create roles and databases.
func setUpDatabases(ctx context.Context, adminURL, passwordFile string) (databases, error) {
	admin, err := url.Parse(adminURL)
	if err != nil || admin.Scheme != "postgres" && admin.Scheme != "postgresql" {
		return databases{}, errors.New("DATABASE_URL must be a URL such as postgres://user:password@host:5432/postgres")
	}
	passwords, err := rolePasswords(passwordFile, ownerRole, appLogin, systemLogin, temporalRole)
	if err != nil {
		return databases{}, err
	}
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return databases{}, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := createAll(ctx, conn, passwords); err != nil {
		if refusal, ok := errors.AsType[*pgconn.PgError](err); ok && refusal.Code == "42501" {
			return databases{}, fmt.Errorf("DATABASE_URL: the user %s must be able to create roles and databases: %w",
				admin.User.Username(), err)
		}
		return databases{}, fmt.Errorf("create roles and databases in PostgreSQL: %w", err)
	}
	as := func(role, database string) string {
		u := *admin
		u.User, u.Path = url.UserPassword(role, passwords[role]), "/"+database
		return u.String()
	}
	return databases{
		product:            as(appLogin, productDatabase),
		system:             as(systemLogin, productDatabase),
		owner:              as(ownerRole, productDatabase),
		temporalStore:      as(temporalRole, temporalDatabase),
		temporalVisibility: as(temporalRole, visibilityDatabase),
	}, nil
}

// createAll creates the missing roles and databases. It can be repeated.
func createAll(ctx context.Context, conn *pgx.Conn, passwords map[string]string) error {
	for _, role := range roles {
		if err := createRole(ctx, conn, role.name, role.attributes, passwords[role.name]); err != nil {
			return err
		}
	}
	for role, login := range map[string]string{appRole: appLogin, systemRole: systemLogin} {
		if _, err := conn.Exec(ctx, fmt.Sprintf("GRANT %s TO %s", role, login)); err != nil {
			return err
		}
	}
	for database, owner := range map[string]string{
		productDatabase: ownerRole, temporalDatabase: temporalRole, visibilityDatabase: temporalRole,
	} {
		if err := createDatabase(ctx, conn, database, owner); err != nil {
			return err
		}
	}
	return nil
}

// createRole creates a role, or sets the attributes and the password of an existing one.
func createRole(ctx context.Context, conn *pgx.Conn, name, attributes, password string) error {
	exists, err := found(ctx, conn, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", name)
	if err != nil {
		return err
	}
	verb := "ALTER"
	if !exists {
		verb = "CREATE"
	}
	statement := fmt.Sprintf("%s ROLE %s %s", verb, name, attributes)
	if password != "" {
		statement += " PASSWORD '" + password + "'" // generated: only letters and digits
	}
	_, err = conn.Exec(ctx, statement)
	return err
}

// createDatabase creates a database with an owner unless it exists.
func createDatabase(ctx context.Context, conn *pgx.Conn, name, owner string) error {
	exists, err := found(ctx, conn, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name)
	if err != nil || exists {
		return err
	}
	// A role that is not a superuser can assign a database only to a role of which it is a member.
	superuser, err := found(ctx, conn, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
	if err != nil {
		return err
	}
	if !superuser {
		if _, err := conn.Exec(ctx, "GRANT "+owner+" TO CURRENT_USER"); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name+" OWNER "+owner+" TEMPLATE template0 ENCODING 'UTF8'")
	return err
}

// found runs a query that returns one boolean.
func found(ctx context.Context, conn *pgx.Conn, query string, args ...any) (yes bool, err error) {
	err = conn.QueryRow(ctx, query, args...).Scan(&yes)
	return yes, err
}

// rolePasswords reads the passwords of roles from a file. It generates missing passwords and writes them to the file.
func rolePasswords(file string, roles ...string) (map[string]string, error) {
	passwords := map[string]string{}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		if err := json.Unmarshal(text, &passwords); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, role := range roles {
		if passwords[role] == "" {
			passwords[role] = rand.Text()
		}
	}
	return passwords, writeJSON(file, passwords)
}
