package api

import (
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// withKeys opens the database of the world with other keys, and a server on it.
func (w *world) withKeys(keys string) (*persistence.DB, *Server) {
	w.Helper()
	ring, err := app.NewKeyring(app.NewSecret(keys))
	w.must(err)
	db, err := persistence.Open(persistence.Config{
		URL: w.db.URL, SystemURL: w.db.SystemURL, MaxConns: 4, Sealer: ring.Sealer(),
	})
	w.must(err)
	w.Cleanup(func() { db.Close() })
	return db, w.serverOn(db, func(c *Config) { c.Keyring = ring })
}

// After rotating the keys and sealing everything again, the old key can be removed: webhooks are signed, with the
// previous secret too, and users log in with one-time passwords.
func TestKeysCanBeRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user := w.otpAccounts()["user"].enroll()
	own := w.stores["own"]
	const second = "another secret that nobody may ever see"
	_, err := w.db.RotateSecret(t.Context(), w.now, own.id, app.Actor{}, own.webhook.ID, app.NewSecret(second),
		time.Hour, 0)
	w.must(err)
	headers := app.WebhookHeaders{"Authorization": app.NewSecret("swordfish")}
	_, err = w.db.ChangeSubscription(t.Context(), w.now, own.id, app.Actor{}, own.webhook.ID,
		app.SubscriptionChange{Headers: &headers}, 0)
	w.must(err)
	const oldKey, newKey = "test key test key test key test key ", "a newer key of at least 32 bytes in all"
	both, _ := w.withKeys(newKey + "," + oldKey)
	var wait sync.WaitGroup
	for range 4 { // concurrent calls are harmless
		wait.Go(func() {
			result, err := both.Reseal(t.Context())
			if err != nil || len(result.Failed) > 0 {
				t.Errorf("reseal: got %+v and error %v, want no failures", result, err)
			}
		})
	}
	wait.Wait()

	db, server := w.withKeys(newKey)
	id, err := db.CreateTest(t.Context(), w.now, own.id, own.webhook.ID)
	w.must(err)
	out, err := db.OutgoingTest(t.Context(), id)
	if err != nil || out.Secret.Reveal() != second {
		t.Errorf("secret of the webhook: got %q and error %v, want %q", out.Secret.Reveal(), err, second)
	}
	if got := out.Headers["Authorization"]; got.Reveal() != "swordfish" {
		t.Errorf("header of the webhook: got %q, want swordfish", got.Reveal())
	}
	var previous []byte
	w.must(db.System().DB.QueryRowContext(t.Context(), `SELECT previous_secret FROM subscriptions WHERE id = $1`,
		own.webhook.ID).Scan(&previous))
	ring, err := app.NewKeyring(app.NewSecret(newKey))
	w.must(err)
	if secret, err := ring.Sealer().Open(previous, string(own.webhook.ID)); err != nil ||
		secret.Reveal() != webhookSecret {
		t.Errorf("previous secret of the webhook: got %q and error %v, want %q", secret.Reveal(), err, webhookSecret)
	}
	body := altered(user.login, object{"otp": w.code(user.secret, 1)})
	w.doOn(server, "POST", "/auth/login", "", body).ok(200, nil)
}
