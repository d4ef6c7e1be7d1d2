package api

import (
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// A website that invites an address as often as it may gets the same responses beyond the budget of mails, and
// suppresses neither the mails of the address's account nor those of another website.
func TestMailsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	ada := w.accounts()["user"]
	website, stores, err := w.db.CreateWebsite(t.Context(), noon, identity.NewWebsite{
		Name: "hostile", Domain: "hostile.test", Plan: app.PlanEnterprise,
	}, newStores([]string{"a", "b", "c", "d", "e"})...)
	w.must(err)
	sent := 0
	for i := range 100 {
		var invited invitationOut
		w.doOn(s, "POST", "/platform/websites/"+string(website)+"/invite-owner", w.tokens["PLATFORM"],
			object{"email": "Ada@example.com", "name": "Ada", "storeId": stores[i/20]}).ok(201, &invited)
		if !invited.Mailed || invited.Token+invited.Link != "" {
			t.Fatalf("invitation %d: got %+v, want it mailed and without a link", i+1, invited)
		}
		for _, mail := range w.claimMails(s) {
			if mail.Status == app.MailQueued {
				sent++
			}
		}
	}
	if sent != app.MailsPerAddress {
		t.Errorf("mails of the hostile website: got %d sent, want %d", sent, app.MailsPerAddress)
	}
	if ada.asked(s) == "" {
		t.Error("password reset of the address: got no mail, want one")
	}
	w.doOn(s, "POST", "/users", w.tokens["FOREIGN"], altered(grace("STAFF"), object{"email": "ada@example.com"})).
		ok(201, nil)
	if mails := w.claimMails(s); len(mails) != 1 || mails[0].Invitation == nil {
		t.Errorf("invitation of another website: got %+v, want a mail", mails)
	}
}
