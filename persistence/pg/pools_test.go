package pg_test

import (
	"testing"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// PostgreSQL soon ends the sessions of a lost host, so that their locks do not remain.
func TestSessionsOfLostHostsEnd(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	db, err := pg.Open(pg.Config{URL: database.URL, SystemURL: database.SystemURL})
	must(t, err)
	defer db.Close()
	for name, pool := range map[string]*bun.DB{"app": db.App(), "system": db.System()} {
		for setting, want := range map[string]string{
			"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
			"tcp_user_timeout": "30000",
		} {
			var got string
			// The current value is 0 on connections without TCP.
			const query = "SELECT reset_val FROM pg_settings WHERE name = ?"
			must(t, pool.QueryRowContext(t.Context(), query, setting).Scan(&got))
			if got != want {
				t.Errorf("%s of the pool %s: got %s, want %s", setting, name, got, want)
			}
		}
	}
}

// The role and the settings of the planner apply also if a pooler ignores startup parameters.
func TestSettingsAreNotStartupParametersOnly(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	db, err := pg.Open(pg.Config{URL: database.URL, SystemURL: database.SystemURL})
	must(t, err)
	defer db.Close()
	must(t, db.CheckSessions(t.Context()))
	for role, pool := range map[string]*bun.DB{pg.RoleApp: db.App(), pg.RoleSystem: db.System()} {
		var got, source string
		must(t, pool.QueryRowContext(t.Context(), "SELECT current_user").Scan(&got))
		if got != role {
			t.Errorf("role of the pool: got %s, want %s", got, role)
		}
		for setting, want := range map[string]string{
			"jit": "off", "enable_seqscan": "off", "plan_cache_mode": "force_generic_plan",
		} {
			const query = "SELECT setting, source FROM pg_settings WHERE name = ?"
			must(t, pool.QueryRowContext(t.Context(), query, setting).Scan(&got, &source))
			if got != want || source != "session" {
				t.Errorf("%s of the role %s: got %s of the %s, want %s of the session",
					setting, role, got, source, want)
			}
		}
	}
}
