package migrations_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/migrations"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// A sandbox whose members differ from those of its live store gets those of the live store. Invitations name live
// stores, and those whose inviter may no longer invite are gone.
func TestTwinsAreRepaired(t *testing.T) {
	t.Parallel()
	ownerURL := ownedDatabase(t)
	migrate(t, ownerURL, pg.Up)
	db, err := pgx.Connect(t.Context(), ownerURL)
	must(t, err)
	defer db.Close(context.Background())
	exec := func(statement string) {
		t.Helper()
		_, err := db.Exec(t.Context(), statement)
		must(t, err)
	}
	for _, name := range []string{"20261122000141_twins", "20261122000140_invitations"} {
		down, err := migrations.Files.ReadFile(name + ".tx.down.sql")
		must(t, err)
		exec(string(down))
		exec("DELETE FROM bun_migrations WHERE name = '" + name[:14] + "'")
	}
	for _, table := range []string{"stores", "memberships"} {
		exec("ALTER TABLE " + table + " NO FORCE ROW LEVEL SECURITY")
	}
	exec(`INSERT INTO websites (id, name, domain, plan, created_at)
		VALUES ('web_1', 'One', 'one.example', 'STARTER', now())`)
	exec(`INSERT INTO stores (id, website_id, name, country_code, timezone, sandbox_of, created_at) VALUES
		('sto_live', 'web_1', 'Live', 'DE', 'Europe/Berlin', NULL, now()),
		('sto_twin', 'web_1', 'Twin', 'DE', 'Europe/Berlin', 'sto_live', now()),
		('sto_other', 'web_1', 'Other', 'DE', 'Europe/Berlin', NULL, now())`)
	exec(`INSERT INTO users (id, email, name, password_hash, platform_role, disabled_at, created_at) VALUES
		('owner', 'owner@example.com', '', '', NULL, NULL, now()),
		('left', 'left@example.com', '', '', NULL, NULL, now()),
		('stayed', 'stayed@example.com', '', '', NULL, NULL, now()),
		('disabled', 'disabled@example.com', '', '', NULL, now(), now()),
		('root', 'root@example.com', '', '', 'ADMIN', NULL, now())`)
	exec(`INSERT INTO memberships (user_id, store_id, role, created_at) VALUES
		('owner', 'sto_live', 'OWNER', now()), ('disabled', 'sto_live', 'OWNER', now()),
		('stayed', 'sto_live', 'STAFF', now()), ('left', 'sto_other', 'OWNER', now())`)
	exec("UPDATE memberships SET role = 'STAFF' WHERE user_id = 'owner' AND store_id = 'sto_twin'")
	exec("DELETE FROM memberships WHERE user_id = 'stayed' AND store_id = 'sto_twin'")
	exec("INSERT INTO memberships (user_id, store_id, role, created_at) VALUES ('left', 'sto_twin', 'OWNER', now())")
	exec(`INSERT INTO invitations (id, website_id, email, name, role, store_ids, token_hash, invited_by, created_at,
			expires_at)
		SELECT id, 'web_1', id, '', 'STAFF', stores, id::bytea, inviter, now(), now() + interval '1 day' FROM (VALUES
			('both', '{sto_twin,sto_live}'::text[], 'owner'), ('twin', '{sto_twin}', 'owner'),
			('theirs', '{sto_twin}', 'left'), ('partly', '{sto_other,sto_live}', 'left'),
			('other', '{sto_other}', 'left'), ('disabled', '{sto_live}', 'disabled'),
			('platform', '{sto_live}', 'root')) i (id, stores, inviter)`)
	for _, table := range []string{"stores", "memberships"} {
		exec("ALTER TABLE " + table + " FORCE ROW LEVEL SECURITY")
	}

	migrate(t, ownerURL, pg.Up)
	exec("ALTER TABLE memberships NO FORCE ROW LEVEL SECURITY")
	texts := func(query string) []string {
		rows, err := db.Query(t.Context(), query)
		must(t, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		return found
	}
	if diff := cmp.Diff([]string{"disabled OWNER", "owner OWNER", "stayed STAFF"}, texts(`SELECT
		concat_ws(' ', user_id, role) FROM memberships WHERE store_id = 'sto_twin' ORDER BY user_id`)); diff != "" {
		t.Errorf("members of the sandbox (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"both {sto_live}", "other {sto_other}", "platform {sto_live}", "twin {sto_live}"},
		texts("SELECT concat_ws(' ', id, store_ids) FROM invitations ORDER BY id")); diff != "" {
		t.Errorf("invitations (-want +got):\n%s", diff)
	}
}
