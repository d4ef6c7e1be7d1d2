package main

import (
	"bytes"
	"context"
	"fmt"
	"net/mail"
	"strings"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/api/client/comanda"
)

// stranger is the address that all websites invite, so that together they mail it more often than one of them may.
const stranger = "stranger@example.com"

func invite(ctx context.Context, t *turn) error {
	in := comanda.InviteRequest{Email: stranger, Name: "Stranger", Role: comanda.RoleStaff}
	return t.sendAsOwner(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		invited, err := c.InviteUser(ctx, in, key)
		if err == nil {
			t.Subject = invited.ID
		}
		return err
	})
}

// startMails starts the mail server.
func (w *world) startMails(ctx context.Context) (err error) {
	w.mails, w.stopMails, err = smtptest.Start(context.WithoutCancel(ctx), smtptest.Config{NoTLS: true})
	return err
}

// mailIDs returns the ids of the mails that have arrived, which their Message-IDs contain.
func (w *world) mailIDs() (ids []string, err error) {
	for _, m := range w.mails.Messages() {
		message, err := mail.ReadMessage(bytes.NewReader(m.Data))
		if err != nil {
			return nil, err
		}
		id, _, _ := strings.Cut(message.Header.Get("Message-ID"), "@")
		ids = append(ids, strings.TrimPrefix(id, "<"))
	}
	return ids, nil
}

// mailURL returns the setting of the mail server.
func (w *world) mailURL() string {
	return fmt.Sprintf("smtp://127.0.0.1:%d?tls=none&from=Comanda%%20<noreply@comanda.example>", w.mails.Port)
}
