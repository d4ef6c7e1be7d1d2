package boot

import (
	"context"
	"errors"
	"io"

	"github.com/comanda-dev/comanda/persistence/pg"
)

// MigrateDirections returns the valid directions of [Migrate].
func MigrateDirections() []string {
	var all []string
	for _, direction := range pg.Directions {
		all = append(all, string(direction))
	}
	return all
}

// Migrate migrates the schema of the database or writes its status to out, depending on direction. It connects as the
// owner of the database, which is not the login role of the API and the workers.
func Migrate(ctx context.Context, ownerURL, direction string, out io.Writer) error {
	if ownerURL == "" {
		return errors.New("DATABASE_URL is required; use the role that owns the database")
	}
	return pg.Migrate(ctx, ownerURL, pg.Direction(direction), out)
}
