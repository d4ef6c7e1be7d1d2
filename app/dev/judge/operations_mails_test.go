package main

import (
	"fmt"
	"net/smtp"
	"slices"
	"testing"
)

// TestMailIDs checks that the ids of mails are those of their Message-IDs.
func TestMailIDs(t *testing.T) {
	t.Parallel()
	w := &world{}
	must(t, w.startMails(t.Context()))
	defer w.stopMails()
	for _, id := range []string{"mail_1", "mail_2", "mail_1"} {
		text := fmt.Sprintf("Message-ID: <%s@comanda.example>\r\n\r\nHello\r\n", id)
		must(t, smtp.SendMail(fmt.Sprintf("127.0.0.1:%d", w.mails.Port), nil, "noreply@comanda.example",
			[]string{stranger}, []byte(text)))
	}
	ids, err := w.mailIDs()
	if want := []string{"mail_1", "mail_2", "mail_1"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("got %v, error %v, want %v", ids, err, want)
	}
}
