package boot

import (
	"context"
	"fmt"
	"io"

	"github.com/comanda-dev/comanda/app"
)

// Reseal seals all secrets in the database again with the first of the keys in COMANDA_SECRET_KEYS, and prints which
// keys can be removed. It must already be the first key of all processes: otherwise they seal values with another key
// after the call. It returns an error if a value cannot be opened, after it has sealed all others. The environment also
// contains that of [openForAdmin].
func Reseal(ctx context.Context, environ map[string]string, out io.Writer) error {
	ring, err := app.NewKeyring(app.NewSecret(environ["COMANDA_SECRET_KEYS"]))
	if err != nil {
		return fmt.Errorf("COMANDA_SECRET_KEYS: %w", err)
	}
	sealer := ring.Sealer()
	db, err := openForAdmin(ctx, environ, sealer)
	if err != nil {
		return err
	}
	defer db.Close()
	result, err := db.Reseal(ctx)
	ids := sealer.KeyIDs()
	fmt.Fprintf(out, "key %s: the first key; sealed %d values again\n", ids[0], result.Values)
	if err != nil {
		return err
	}
	for _, id := range ids[1:] {
		if n := result.Left[id]; n > 0 {
			fmt.Fprintf(out, "key %s: still seals %d values; keep it\n", id, n)
			continue
		}
		fmt.Fprintf(out, "key %s: can be removed if %s is the first key of all processes; otherwise restart them with "+
			"that key first and repeat this command. Users and customers whose refresh token it signed must log in again\n",
			id, ids[0])
	}
	for _, value := range result.Failed {
		fmt.Fprintf(out, "%s.%s of %s: %v\n", value.Table, value.Column, value.ID, value.Err)
	}
	if len(result.Failed) > 0 {
		return fmt.Errorf("%d values cannot be opened", len(result.Failed))
	}
	return nil
}
