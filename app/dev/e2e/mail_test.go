package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// mailedLink matches the token in a mail with folded lines.
var mailedLink = regexp.MustCompile(`/dashboard/accept-invite#([A-Za-z0-9_-]{43})`)

// TestInvitationsAreMailed checks mails of invitations up to the acceptance, with several responses of the mail server
// and with two workers, which send one mail. Histories and logs contain neither the token nor an email.
func TestInvitationsAreMailed(t *testing.T) {
	t.Parallel()
	respond := func(stage, address string) *smtptest.Rejection {
		switch {
		case stage == "RCPT" && strings.HasPrefix(address, "refused@"):
			return &smtptest.Rejection{Code: 550, Enhanced: [3]int{5, 1, 1}, Text: "no " + address}
		case stage == "RCPT" && strings.HasPrefix(address, "later@"):
			return &smtptest.Rejection{Code: 450, Enhanced: [3]int{4, 2, 1}, Text: "not now, " + address}
		}
		return nil
	}
	server := smtptest.New(t, smtptest.Config{Certificate: &worldOf(t).tls, Reject: respond})
	settings := map[string]string{"COMANDA_SMTP_URL": server.URL()}
	serve, url, err := worldOf(t).serve(t.Context(), settings)
	must(t, err)
	t.Cleanup(serve.Kill)
	settings["COMANDA_BASE_URL"] = url
	r := newRestaurant(t)
	r.login(url)

	const domain = "@guests.example"
	private := []string{domain, "p@ss", "p%40ss", "Grace"}
	ids := map[string]app.MailID{}
	invite := func(name, address string) {
		t.Helper()
		out, err := r.InviteUser(t.Context(), comanda.InviteRequest{
			Email: address + domain, Name: "Grace", Role: comanda.RoleStaff,
		})
		must(t, err)
		var id app.MailID
		const query = "SELECT id FROM mails WHERE subject = $1"
		must(t, worldOf(t).db.System().DB.QueryRowContext(t.Context(), query, out.ID).Scan(&id))
		if !out.Mailed || out.Token != "" {
			t.Errorf("invitation of %s: got mailed %t and a token of %d bytes, want a mail only", address, out.Mailed,
				len(out.Token))
		}
		ids[name] = id
	}
	invite("obsolete", "grace")
	invite("sent", "grace")
	invite("refused", "refused")
	invite("cancelled", "later")

	workers := []interface{ Output() string }{worker(t, settings), worker(t, settings), serve}
	status := func(name string, want app.MailStatus, reason string) {
		t.Helper()
		eventually(t, name, func() error {
			var status app.MailStatus
			var got string
			var secret []byte
			const query = "SELECT status, reason, secret FROM mails WHERE id = $1"
			err := worldOf(t).db.System().DB.QueryRowContext(t.Context(), query, ids[name]).Scan(&status, &got, &secret)
			if err == nil && (status != want || got != reason || secret != nil) {
				err = fmt.Errorf("got status %s with reason %q", status, got)
			}
			return err
		})
	}
	status("sent", app.MailSent, "")
	status("obsolete", app.MailObsolete, "the invitation has been accepted, has been replaced or has ended")
	status("refused", app.MailFailed, "SMTP 550 5.1.1")
	eventually(t, "the mail server has rejected the mail temporarily", func() error {
		id := workflows.JobWorkflowID(app.JobMail, string(ids["cancelled"]))
		description, err := worldOf(t).temporal.DescribeWorkflowExecution(t.Context(), id, "")
		if err != nil {
			return err
		}
		err = errNotYet
		for _, pending := range description.PendingActivities {
			if failure := pending.LastFailure; failure != nil {
				if failure.Message == "SMTP 450 4.2.1" {
					return nil
				}
				err = errors.New(failure.Message) // a timeout of the activity, which is repeated
			}
		}
		return err
	})
	cancelled := workflows.JobWorkflowID(app.JobMail, string(ids["cancelled"]))
	must(t, worldOf(t).temporal.CancelWorkflow(t.Context(), cancelled, ""))
	status("cancelled", app.MailFailed, "cancelled")

	// The workers may also send notices of webhooks of other tests.
	messages := slices.DeleteFunc(server.Messages(), func(m smtptest.Message) bool {
		return !slices.Contains(m.To, "grace"+domain)
	})
	if len(messages) != 1 {
		t.Fatalf("mails: got %d, want 1", len(messages))
	}
	link := mailedLink.FindSubmatch([]byte(strings.ReplaceAll(string(messages[0].Data), "=\r\n", "")))
	if link == nil {
		t.Fatalf("mail: got no link, want one:\n%s", messages[0].Data)
	}
	private = append(private, string(link[1]))
	_, err = newClient(t, url, "").AcceptInvitation(t.Context(), comanda.AcceptInviteRequest{
		Token: string(link[1]), Password: ownerPassword,
	})
	must(t, err)

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
				t.Errorf("the history of the mail %s contains %q", name, secret)
			}
		}
	}
	for _, process := range workers {
		for _, secret := range private {
			if strings.Contains(process.Output(), secret) {
				t.Errorf("a log contains %q", secret)
			}
		}
	}
}

// mailHistory waits until the workflow of a mail ends and returns its history.
func mailHistory(t *testing.T, id app.MailID) (events []*history.HistoryEvent) {
	t.Helper()
	eventually(t, "the workflow ends", func() error {
		events = nil
		iterator := worldOf(t).temporal.GetWorkflowHistory(t.Context(),
			workflows.JobWorkflowID(app.JobMail, string(id)), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for iterator.HasNext() {
			event, err := iterator.Next()
			must(t, err)
			events = append(events, event)
		}
		switch events[len(events)-1].EventType {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
			enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
			return nil
		}
		return errNotYet
	})
	return events
}
