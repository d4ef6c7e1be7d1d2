package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// TestFurtherMigrations checks that the further migrations run up and down on the present schema, more than once.
func TestFurtherMigrations(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), persistencetest.New(t).OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	names := slices.Sorted(maps.Keys(further))
	run := func(direction string) {
		for _, name := range names {
			if !strings.HasSuffix(name, "."+direction+".sql") {
				continue
			}
			for statement := range strings.SplitSeq(further[name], "--bun:split") {
				if _, err := conn.Exec(t.Context(), statement); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	for range 2 {
		run("up")
		slices.Reverse(names)
		run("down")
		slices.Reverse(names)
	}
}
