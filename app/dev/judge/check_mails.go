package main

import (
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app"
)

type mailRow struct {
	ID      string `json:"id"`
	Store   string `json:"store_id"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`

	CreatedAt time.Time `json:"created_at"`
}

// checkMails checks docs/behaviour.md#mails: the mail of a confirmed invitation exists and ends, one that is recorded
// as sent has arrived, and one is withheld only after its own website has had its budget.
func checkMails(h *history, s *state) (found []violation) {
	add := func(format string, args ...any) { found = append(found, violation{Text: fmt.Sprintf(format, args...)}) }
	type box struct{ website, address string }
	counted, sent, arrived, known := map[box]int{}, map[string]int{}, map[string]int{}, map[string]bool{}
	of := func(m mailRow) box { return box{s.Stores[m.Store].Website, s.Invited[m.Subject]} }
	for _, m := range s.Mails {
		known[m.Subject] = true
		if m.Reason != app.ReasonMailBudget {
			counted[of(m)]++
			counted[box{website: of(m).website}]++
		}
		if m.Status == string(app.MailSent) {
			sent[of(m).address]++
		}
	}
	for _, m := range s.Mails {
		to, all := counted[of(m)], counted[box{website: of(m).website}]
		switch {
		case m.Status == string(app.MailQueued) && s.lostMail(m.CreatedAt): // it starts again after two hours
		case m.Status == string(app.MailQueued) || m.Status == string(app.MailFailed):
			add("mail %s is %s: %s", m.ID, m.Status, m.Reason)
		case m.Reason == app.ReasonMailBudget && to < app.MailsPerAddress && all < app.MailsPerWebsite:
			add("mail %s was withheld after %d mails of its website, %d of them to its address", m.ID, all, to)
		}
	}
	for _, to := range h.Mails {
		arrived[to]++
	}
	for address, n := range sent {
		if address != "" && n > arrived[address] {
			add("%d mails to %s are recorded as sent, %d have arrived", n, address, arrived[address])
		}
	}
	for _, o := range h.Operations {
		if o.Kind == "invite" && o.Result == done && !known[o.Subject] {
			add("operation %d of %s was confirmed: the mail of %s does not exist", o.Number, o.Site, o.Subject)
		}
	}
	return found
}
