package boot

import (
	"context"
	"errors"
	"io"

	"github.com/comanda-dev/comanda/persistence/pg"
)

var errNoOwner = errors.New("DATABASE_URL is required; use the role that owns the database")

// Migrate applies all missing migrations and writes their names to out. Like Revert and ListMigrations it connects as
// the owner of the database, which is not the login role of the API and the workers.
func Migrate(ctx context.Context, ownerURL string, out io.Writer) error {
	if ownerURL == "" {
		return errNoOwner
	}
	return pg.Migrate(ctx, ownerURL, out)
}

// Revert reverts the migrations of the last Migrate. Without deleteData it returns an error that lists the data that
// this deletes.
func Revert(ctx context.Context, ownerURL string, deleteData bool, out io.Writer) error {
	if ownerURL == "" {
		return errNoOwner
	}
	return pg.Revert(ctx, ownerURL, deleteData, out)
}

// ListMigrations writes the migrations and their states to out.
func ListMigrations(ctx context.Context, ownerURL string, out io.Writer) error {
	if ownerURL == "" {
		return errNoOwner
	}
	return pg.ListMigrations(ctx, ownerURL, out)
}
