package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// mailedLink finds the token in a mail, whose longest lines are folded.
var mailedLink = regexp.MustCompile(`/dashboard/accept-invite#([A-Za-z0-9_-]{43})`)

// From the invitation to the mail with which it is accepted, whatever the mail server says
// on the way; two workers send one mail. Histories and logs hold neither the token nor an
// address.
func TestInvitationsAreMailed(t *testing.T) {
	server := smtptest.New(t, smtptest.Config{Certificate: &the.tls, Answer: func(stage, address string) *smtptest.Answer {
		switch {
		case stage == "RCPT" && strings.HasPrefix(address, "refused@"):
			return &smtptest.Answer{Code: 550, Enhanced: [3]int{5, 1, 1}, Text: "no " + address}
		case stage == "RCPT" && strings.HasPrefix(address, "later@"):
			return &smtptest.Answer{Code: 450, Enhanced: [3]int{4, 2, 1}, Text: "not now, " + address}
		}
		return nil
	}})
	settings := map[string]string{"COMANDA_SMTP_URL": server.URL()}
	serve, url, err := the.serve(t.Context(), settings)
	must(t, err)
	t.Cleanup(serve.Kill)
	settings["COMANDA_BASE_URL"] = url
	r := newRestaurant(t)
	var me struct{ User app.User }
	r.want(200, "GET", "/auth/me", nil, &me)
	r.api, r.token = url, ""
	var login struct{ AccessToken string }
	r.want(200, "POST", "/auth/login", map[string]string{"email": me.User.Email, "password": ownerPassword}, &login)
	r.token = login.AccessToken

	const domain = "@guests.example"
	private := []string{domain, "p@ss", "p%40ss", "Grace"}
	ids := map[string]app.MailID{}
	invite := func(name, address string) (token string) {
		t.Helper()
		var out struct {
			ID, Token string
			Mailed    bool
		}
		r.want(201, "POST", "/users", map[string]string{"email": address + domain, "name": "Grace", "role": "STAFF"}, &out)
		var id app.MailID
		must(t, the.db.System().DB.QueryRowContext(t.Context(), "SELECT id FROM mails WHERE subject = $1", out.ID).Scan(&id))
		if !out.Mailed {
			t.Errorf("%s is not mailed to", address)
		}
		ids[name], private = id, append(private, out.Token)
		return out.Token
	}
	invite("obsolete", "grace")
	token := invite("sent", "grace")
	invite("refused", "refused")
	invite("cancelled", "later")

	workers := []interface{ Output() string }{worker(t, settings), worker(t, settings), serve}
	status := func(name string, want app.MailStatus, reason string) {
		t.Helper()
		eventually(t, name, func() error {
			var status app.MailStatus
			var got string
			var secret []byte
			err := the.db.System().DB.QueryRowContext(t.Context(), "SELECT status, reason, secret FROM mails WHERE id = $1", ids[name]).Scan(&status, &got, &secret)
			if err == nil && (status != want || got != reason || secret != nil) {
				err = fmt.Errorf("%s because %q", status, got)
			}
			return err
		})
	}
	status("sent", app.MailSent, "")
	status("obsolete", app.MailObsolete, "the invitation has been accepted, replaced or has expired")
	status("refused", app.MailFailed, "SMTP 550 5.1.1")
	eventually(t, "the mail that must wait has been tried", func() error {
		description, err := the.temporal.DescribeWorkflowExecution(t.Context(), workflows.JobWorkflowID(app.JobMail, string(ids["cancelled"])), "")
		if err != nil {
			return err
		}
		for _, pending := range description.PendingActivities {
			if failure := pending.LastFailure; failure != nil {
				if failure.Message != "SMTP 450 4.2.1" {
					t.Errorf("operators see %q", failure.Message)
				}
				return nil
			}
		}
		return errNotYet
	})
	must(t, the.temporal.CancelWorkflow(t.Context(), workflows.JobWorkflowID(app.JobMail, string(ids["cancelled"])), ""))
	status("cancelled", app.MailFailed, "cancelled")

	messages := server.Messages()
	if len(messages) != 1 {
		t.Fatalf("%d mails", len(messages))
	}
	link := mailedLink.FindSubmatch([]byte(strings.ReplaceAll(string(messages[0].Data), "=\r\n", "")))
	if link == nil || string(link[1]) != token {
		t.Fatalf("no link in:\n%s", messages[0].Data)
	}
	r.want(200, "POST", "/auth/accept-invite", map[string]string{"token": string(link[1]), "password": ownerPassword}, nil)

	for name, id := range ids {
		events := mailHistory(t, id)
		replayer := sdkworker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(workflows.Mail, workflow.RegisterOptions{Name: string(app.JobMail)})
		if err := replayer.ReplayWorkflowHistory(nil, &history.History{Events: events}); err != nil {
			t.Error(err)
		}
		keep(t, "mail_"+name, events)
		for _, secret := range private {
			if strings.Contains(fmt.Sprint(events), secret) {
				t.Errorf("the history of the mail %s holds %q", name, secret)
			}
		}
	}
	for _, process := range workers {
		for _, secret := range private {
			if strings.Contains(process.Output(), secret) {
				t.Errorf("a log holds %q", secret)
			}
		}
	}
}

// mailHistory waits for the end of a mail's workflow and returns its history.
func mailHistory(t *testing.T, id app.MailID) (events []*history.HistoryEvent) {
	t.Helper()
	eventually(t, "the workflow ends", func() error {
		events = nil
		iterator := the.temporal.GetWorkflowHistory(t.Context(), workflows.JobWorkflowID(app.JobMail, string(id)), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for iterator.HasNext() {
			event, err := iterator.Next()
			must(t, err)
			events = append(events, event)
		}
		switch events[len(events)-1].EventType {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
			return nil
		}
		return errNotYet
	})
	return events
}
