package workflows

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
)

// mailScript runs a mail with given outcomes of the activity, and records its behaviour.
type mailScript struct {
	*testsuite.TestWorkflowEnvironment
	at      []time.Duration // times of the executions since the start
	timeout time.Duration   // ScheduleToCloseTimeout of the activity
	gaveUp  string
}

func runMail(t *testing.T, try func(n int) (activities.MailResult, error), cancelAfter time.Duration) *mailScript {
	t.Helper()
	s := &mailScript{TestWorkflowEnvironment: environment()}
	s.SetStartTime(start)
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.MailInput) (activities.MailResult, error) {
		s.timeout = activity.GetInfo(ctx).ScheduleToCloseTimeout
		s.checkQueue(t, ctx)
		if in != (activities.MailInput{StoreID: "sto_1", MailID: "mail_1"}) {
			t.Errorf("input %+v, want mail_1 of sto_1", in)
		}
		s.at = append(s.at, s.Now().Sub(start))
		return try(len(s.at))
	}, activity.RegisterOptions{Name: activitySendMail})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.GiveUpInput) error {
		s.checkQueue(t, ctx)
		s.gaveUp = in.Reason
		return nil
	}, activity.RegisterOptions{Name: activityGiveUpMail})
	if cancelAfter > 0 {
		s.RegisterDelayedCallback(s.CancelWorkflow, cancelAfter)
	}
	s.ExecuteWorkflow(Mail, JobInput{StoreID: "sto_1", Subject: "mail_1"})
	if !s.IsWorkflowCompleted() {
		t.Fatal("the workflow has not completed")
	}
	return s
}

// checkQueue checks that the activities of mails use their own task queue.
func (s *mailScript) checkQueue(t *testing.T, ctx context.Context) {
	if queue := activity.GetInfo(ctx).TaskQueue; queue != MailTaskQueue {
		t.Errorf("task queue %s, want %s", queue, MailTaskQueue)
	}
}

var (
	mailSent     = activities.MailResult{Status: app.MailSent}
	mailObsolete = activities.MailResult{Status: app.MailObsolete, Reason: "the invitation has expired"}
	mailRefusal  = activities.MailResult{Status: app.MailFailed, Reason: "SMTP 550"}
	errGreylist  = errors.New("SMTP 451")
)

func TestMailRetriesUntilSent(t *testing.T) {
	t.Parallel()
	s := runMail(t, func(n int) (activities.MailResult, error) {
		if n < 4 {
			return activities.MailResult{}, errGreylist
		}
		return mailSent, nil
	}, 0)
	if err := s.GetWorkflowError(); err != nil || s.gaveUp != "" || len(s.at) != 4 {
		t.Fatalf("error %v after executions at %v, given up %q, want success after 4",
			s.GetWorkflowError(), s.at, s.gaveUp)
	}
	for i, pause := range []time.Duration{40 * time.Second, 80 * time.Second, 160 * time.Second} {
		if got := s.at[i+1] - s.at[i]; got < pause || got > pause+time.Second {
			t.Errorf("pause %d: %v, want %v", i+1, got, pause)
		}
	}
}

func TestMailEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		result activities.MailResult
		failed string // type of the error that ends the workflow
	}{
		"sent": {mailSent, ""}, "obsolete": {mailObsolete, ""}, "refused": {mailRefusal, mailRefused},
	} {
		t.Run(name, func(t *testing.T) {
			s := runMail(t, func(int) (activities.MailResult, error) { return test.result, nil }, 0)
			var got string
			if failure, ok := errors.AsType[*temporal.ApplicationError](s.GetWorkflowError()); ok {
				got = failure.Type()
			}
			if got != test.failed || len(s.at) != 1 || s.gaveUp != "" {
				t.Errorf("%s: error %v after executions at %v, want failed %v after one",
					name, s.GetWorkflowError(), s.at, test.failed)
			}
		})
	}
}

// The test environment ends retries after ten executions; Temporal ends them after the timeout of the activity.
func TestMailGivesUpAfterADay(t *testing.T) {
	t.Parallel()
	s := runMail(t, func(int) (activities.MailResult, error) { return activities.MailResult{}, errGreylist }, 0)
	if s.GetWorkflowError() == nil || s.gaveUp != "given up after a day" || s.timeout != 24*time.Hour {
		t.Errorf("error %v, given up %q, timeout %v, want an error and 24h", s.GetWorkflowError(), s.gaveUp, s.timeout)
	}
	for i := 1; i < len(s.at); i++ {
		if pause := s.at[i] - s.at[i-1]; pause > time.Hour+time.Second {
			t.Errorf("pause before execution %d: %v, want at most 1h", i+1, pause)
		}
	}
}

func TestMailCancelled(t *testing.T) {
	t.Parallel()
	s := runMail(
		t, func(int) (activities.MailResult, error) { return activities.MailResult{}, errGreylist }, time.Minute,
	)
	if !temporal.IsCanceledError(s.GetWorkflowError()) || s.gaveUp != "cancelled" || len(s.at) != 2 {
		t.Errorf("ended with %v, given up %q, executions at %v, want a cancellation after 2",
			s.GetWorkflowError(), s.gaveUp, s.at)
	}
}

// unrecorded is a MailStore whose first records fail. Its first claims fail with other errors, at the times at.
type unrecorded struct {
	failures, records int
	refused           []error
	at                []time.Time
	now               func() time.Time
}

func (u *unrecorded) ClaimMail(
	context.Context, time.Time, time.Duration, app.StoreID, app.MailID,
) (app.Mail, error) {
	if len(u.refused) > 0 {
		err := u.refused[0]
		u.refused, u.at = u.refused[1:], append(u.at, u.now())
		return app.Mail{}, err
	}
	return app.Mail{
		ID: "mail_1", Kind: app.MailPasswordReset, Status: app.MailQueued, Name: "Ada", Email: "ada@example.com",
		Reset: &app.ResetMail{Token: app.NewSecret("token")},
	}, nil
}

func (u *unrecorded) EndMail(
	context.Context, time.Time, app.StoreID, app.MailID, app.MailStatus, string,
) error {
	if u.records++; u.records <= u.failures {
		return app.Unavailable(0)
	}
	return nil
}

// send runs the workflow of a mail of a store, which must complete, and returns the number of mails that a mail server
// has accepted.
func send(t *testing.T, env *testsuite.TestWorkflowEnvironment, store activities.MailStore) int {
	t.Helper()
	server := smtptest.New(t, smtptest.Config{})
	smtp, err := activities.NewSMTP(app.NewSecret(server.URL()), server.Roots)
	if err != nil {
		t.Fatal(err)
	}
	mails := activities.NewMails(store, smtp, "https://comanda.example", env.Now, prometheus.NewRegistry())
	env.RegisterActivityWithOptions(sendMail(mails), activity.RegisterOptions{Name: activitySendMail})
	env.ExecuteWorkflow(Mail, JobInput{StoreID: "sto_1", Subject: "mail_1"})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	return len(server.Messages())
}

// A mail that the mail server has accepted is not sent again while its record fails.
func TestMailIsSentOnceIfItsRecordFails(t *testing.T) {
	t.Parallel()
	store := &unrecorded{failures: 3}
	if n := send(t, environment(), store); n != 1 || store.records != 4 {
		t.Errorf("got %d mails and %d records, want 1 and 4", n, store.records)
	}
}

// While Comanda's database fails, a mail is claimed again after the same short pause, and while another worker has
// claimed it, after the lease. The pauses that double are those of the mail server.
func TestMailWaitsShortlyForTheDatabase(t *testing.T) {
	t.Parallel()
	env := environment()
	store := &unrecorded{now: env.Now, refused: []error{
		app.Unavailable(0), app.Unavailable(0), app.Unavailable(0), app.Unavailable(0),
		app.Errorf(app.CodeConflict, "claimed"), app.Unavailable(0),
	}}
	sent := send(t, env, store)
	var pauses []time.Duration
	for i, at := range store.at[1:] {
		pauses = append(pauses, at.Sub(store.at[i]))
	}
	want := []time.Duration{mailStoreDelay, mailStoreDelay, mailStoreDelay, mailStoreDelay, activities.MailLease}
	if !slices.Equal(pauses, want) || sent != 1 {
		t.Errorf("got pauses of %v and %d mails, want %v and 1", pauses, sent, want)
	}
}
