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

	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

func (m mailRow) sent() bool { return m.Status == string(app.MailSent) }

// checkMails checks docs/behaviour.md#mails: the mail of a confirmed invitation exists and ends. A website sends an
// address as many mails as its budget allows, and one is withheld only after that. Runs are shorter than the hour of a
// budget.
func checkMails(h *history, s *state) (found []violation) {
	add := func(format string, args ...any) { found = append(found, violation{Text: fmt.Sprintf(format, args...)}) }
	type box struct{ website, address string }
	counted, sent, known := map[box]int{}, map[box]int{}, map[string]bool{}
	of := func(m mailRow) box { return box{s.Stores[m.Store].Website, s.Invited[m.Subject]} }
	for _, m := range s.Mails {
		known[m.Subject] = true
		if m.Reason != app.ReasonMailBudget {
			counted[of(m)]++
			counted[box{website: of(m).website}]++
		}
		if m.sent() {
			sent[of(m)]++
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
	for to, n := range sent {
		if to.address != "" && n > app.MailsPerAddress {
			add("%s has sent %d mails to %s", to.website, n, to.address)
		}
	}
	for _, o := range h.Operations {
		if o.Kind == "invite" && o.Result == done && !known[o.Subject] {
			add("operation %d of %s was confirmed: the mail of %s does not exist", o.Number, o.Site, o.Subject)
		}
	}
	return append(found, checkArrivedMails(h, s)...)
}

// checkArrivedMails checks that each mail that is recorded as sent has arrived, and that no other one has, except that
// a fault may repeat a mail whose record it prevents.
func checkArrivedMails(h *history, s *state) (found []violation) {
	arrived := map[string]int{}
	for _, id := range h.Mails {
		arrived[id]++
	}
	for _, m := range s.Mails {
		sent, n, faults := 0, arrived[m.ID], h.repetitions(m)
		if m.sent() {
			sent = 1
		}
		if n < sent || n > sent+faults {
			found = append(found, violation{
				Text: fmt.Sprintf("mail %s is %s and has arrived %d times, during %d faults", m.ID, m.Status, n, faults),
			})
		}
	}
	return found
}

// repetitions returns the number of faults at which a mail may have been repeated: those from its cause to its end. Of
// a mail whose times are by a clock that differed, they are all faults.
func (h *history) repetitions(m mailRow) int {
	begin, end := m.CreatedAt, h.End
	if m.EndedAt != nil {
		end = *m.EndedAt
	}
	if h.skewed(begin) || h.skewed(end) {
		begin, end = h.Begin, h.End
	}
	return h.interrupted(begin.Add(-aftermath), end.Add(recording))
}
