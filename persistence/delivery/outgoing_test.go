package delivery_test

import (
	"sync"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A secret that cannot be decrypted fails only the attempts of its subscription, even if the
// statement loads attempts of other subscriptions.
func TestUnreadableSecret(t *testing.T) {
	t.Parallel()
	for column, statement := range map[string]string{
		"secret":  "UPDATE subscriptions SET secret = 'damaged' WHERE id = $1",
		"headers": `UPDATE subscriptions SET headers = 'damaged' WHERE id = $1`,
		"previous secret": `UPDATE subscriptions SET previous_secret = 'damaged',
			previous_secret_until = now() + interval '1 h' WHERE id = $1`,
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			damaged := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
			for range 3 {
				r.Subscribe(t, db, 0, app.EventOrderCreated)
			}
			enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
			change(t, db, statement, damaged)
			var loads sync.WaitGroup
			for _, c := range claimOnce(t, db.Queue, noon, all) {
				loads.Go(func() {
					o, err := db.Outgoing(t.Context(), c.ID, 1)
					if err != nil {
						t.Error(err)
						return
					}
					unreadable := c.SubscriptionID == damaged
					if o.Unreadable != unreadable || (o.Secret.Reveal() == "") != unreadable ||
						o.SubscriptionID != c.SubscriptionID {
						t.Errorf("%s: unreadable %v, want %v", c.SubscriptionID, o.Unreadable, unreadable)
					}
				})
			}
			loads.Wait()
		})
	}
}
