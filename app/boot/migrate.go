package boot

import (
	"context"
	"errors"
	"io"

	"github.com/comanda-dev/comanda/persistence/pg"
)

// MigrateDirections lists what Migrate can do.
func MigrateDirections() []string {
	var all []string
	for _, direction := range pg.Directions {
		all = append(all, string(direction))
	}
	return all
}

// Migrate changes the schema of the database, or reports on it, as the role that owns it:
// another than that of the API and the workers.
func Migrate(ctx context.Context, ownerURL, direction string, out io.Writer) error {
	if ownerURL == "" {
		return errors.New("DATABASE_URL is required, of the role that owns the database")
	}
	return pg.Migrate(ctx, ownerURL, pg.Direction(direction), out)
}
