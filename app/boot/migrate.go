package boot

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/comanda-dev/comanda/persistence/pg"
)

var errNoOwner = errors.New("DATABASE_URL is required; use the role that owns the database")

func checkOwnerURL(ownerURL string) error {
	if ownerURL == "" {
		return errNoOwner
	}
	if err := checkDecided(ownerURL); err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	return nil
}

// Migrate applies all missing migrations and writes their names to out. Like Revert and ListMigrations it connects as
// the owner of the database, which is not the login role of the API and the workers.
func Migrate(ctx context.Context, ownerURL string, out io.Writer) error {
	if err := checkOwnerURL(ownerURL); err != nil {
		return err
	}
	return pg.Migrate(ctx, ownerURL, out)
}

// Revert reverts the migrations of the last Migrate. Without deleteData it returns an error that lists the data that
// this deletes.
func Revert(ctx context.Context, ownerURL string, deleteData bool, out io.Writer) error {
	if err := checkOwnerURL(ownerURL); err != nil {
		return err
	}
	return pg.Revert(ctx, ownerURL, deleteData, out)
}

// ListMigrations writes the migrations and their states to out.
func ListMigrations(ctx context.Context, ownerURL string, out io.Writer) error {
	if err := checkOwnerURL(ownerURL); err != nil {
		return err
	}
	return pg.ListMigrations(ctx, ownerURL, out)
}
