package main

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/comanda-dev/comanda/persistence/localpg"
)

// startPostgres starts a server that ends with the test. Without PostgreSQL, it skips the test, except in CI.
func startPostgres(t *testing.T) *localpg.Server {
	t.Helper()
	server, err := localpg.Start(t.Context(), localpg.Options{})
	if errors.Is(err, localpg.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server
}
