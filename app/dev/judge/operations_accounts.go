package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// member is a customer with an account and a session. The lock of the site guards the email and the addresses.
type member struct {
	id        string
	email     string
	client    *comanda.Client
	addresses []string
}

// sendAsMember sends a request in the session of a customer.
func (t *turn) sendAsMember(ctx context.Context, m *member, request keyed) error {
	login := func(ctx context.Context) error {
		t.site.lock.Lock()
		in := comanda.LoginCustomerRequest{StoreID: t.site.store, Email: m.email, Password: memberPassword}
		t.site.lock.Unlock()
		_, err := m.client.LoginCustomer(ctx, in)
		return err
	}
	return t.sendInSession(ctx, m.client, login, request)
}

// addAddress adds an address of a customer, which emits an event.
func addAddress(ctx context.Context, t *turn) error {
	chosen, err := choose(t, &t.site.members)
	if err != nil {
		return err
	}
	t.Detail = chosen.id
	in := comanda.AddAddressRequest{Line1: t.unique("Main Street"), City: "Berlin", Country: "DE"}
	return t.sendAsMember(ctx, chosen, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		created, err := c.CreateAddress(ctx, chosen.id, in, key)
		if err == nil {
			t.Subject = created.ID
			remember(t.site, &chosen.addresses, created.ID)
		}
		return err
	})
}

// deleteAddress deletes an address that an operation has added.
func deleteAddress(ctx context.Context, t *turn) error {
	t.site.lock.Lock()
	list := slices.DeleteFunc(slices.Clone(t.site.members), func(m *member) bool { return len(m.addresses) == 0 })
	t.site.lock.Unlock()
	chosen, err := choose(t, &list)
	if err != nil {
		return err
	}
	if t.Subject, err = choose(t, &chosen.addresses); err != nil {
		return err
	}
	return t.sendAsMember(ctx, chosen, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		err := c.DeleteAddress(ctx, chosen.id, t.Subject)
		if err == nil {
			t.site.lock.Lock()
			defer t.site.lock.Unlock()
			chosen.addresses = slices.DeleteFunc(chosen.addresses, func(id string) bool { return id == t.Subject })
		}
		return err
	})
}

const (
	// mailTime is the longest time for which an operation waits for a mail.
	mailTime = 30 * time.Second
	// mailPause is the time between two looks into the mailbox.
	mailPause = 200 * time.Millisecond
)

// changeEmail requests a change of the email of a customer, and confirms it with the link that is mailed to the new
// address. Of two concurrent changes of a customer, the link of the newer one is valid.
func changeEmail(ctx context.Context, t *turn) error {
	chosen, err := choose(t, &t.site.members)
	if err != nil {
		return err
	}
	t.Subject, t.Detail = chosen.id, t.unique("moved")+"@example.com"
	in := comanda.ChangeCustomerEmailRequest{Email: t.Detail, Password: memberPassword}
	err = t.sendAsMember(ctx, chosen, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.ChangeCustomerEmail(ctx, in)
		return err
	})
	if err != nil {
		return err
	}
	token, err := t.site.all.w.awaitToken(ctx, in.Email)
	if err != nil {
		return err
	}
	public, err := t.site.all.client("")
	if err != nil {
		return err
	}
	return t.sendAs(ctx, public, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.ConfirmCustomerEmail(ctx, comanda.ConfirmCustomerEmailRequest{Token: token})
		if err == nil {
			t.site.lock.Lock()
			defer t.site.lock.Unlock()
			chosen.email = in.Email
		}
		return err
	})
}

// awaitToken waits for a mail with a link to an address. A fault can delay it.
func (w *world) awaitToken(ctx context.Context, to string) (string, error) {
	for until := time.Now().Add(mailTime); time.Now().Before(until); {
		if token := w.mailedToken(to); token != "" {
			return token, nil
		}
		if err := wait(ctx, mailPause); err != nil {
			return "", err
		}
	}
	return "", errNoTarget
}

// mailedLink matches the token of a link in a mail.
var mailedLink = regexp.MustCompile(`#token=([A-Za-z0-9_-]+)`)

// mailedToken returns the token of the newest link that was mailed to an address, or "".
func (w *world) mailedToken(to string) string {
	decode := strings.NewReplacer("=\r\n", "", "=3D", "=") // quoted-printable
	for _, m := range slices.Backward(w.mails.Messages()) {
		link := mailedLink.FindStringSubmatch(decode.Replace(string(m.Data)))
		if link != nil && slices.Contains(m.To, to) {
			return link[1]
		}
	}
	return ""
}
