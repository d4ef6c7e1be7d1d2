package workflows

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// mailScript runs a mail whose tries end as told, and keeps what it saw.
type mailScript struct {
	*testsuite.TestWorkflowEnvironment
	at       []time.Duration // of the tries, since the start
	patience time.Duration   // with all of them
	gaveUp   string
}

func runMail(t *testing.T, try func(n int) (activities.MailResult, error), cancelAfter time.Duration) *mailScript {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	s := &mailScript{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment()}
	s.SetStartTime(start)
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.MailInput) (activities.MailResult, error) {
		s.patience = activity.GetInfo(ctx).ScheduleToCloseTimeout
		s.checkQueue(t, ctx)
		if in != (activities.MailInput{StoreID: "sto_1", MailID: "mail_1"}) {
			t.Errorf("sent %+v", in)
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
		t.Fatal("the workflow goes on")
	}
	return s
}

// checkQueue checks that mails wait behind mails only.
func (s *mailScript) checkQueue(t *testing.T, ctx context.Context) {
	if queue := activity.GetInfo(ctx).TaskQueue; queue != MailTaskQueue {
		t.Errorf("on the queue %s", queue)
	}
}

var (
	mailSent     = activities.MailResult{Status: app.MailSent}
	mailObsolete = activities.MailResult{Status: app.MailObsolete, Reason: "the invitation has expired"}
	mailRefusal  = activities.MailResult{Status: app.MailFailed, Reason: "SMTP 550"}
	errGreylist  = errors.New("SMTP 451")
)

func TestMailIsTriedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	s := runMail(t, func(n int) (activities.MailResult, error) {
		if n < 4 {
			return activities.MailResult{}, errGreylist
		}
		return mailSent, nil
	}, 0)
	if err := s.GetWorkflowError(); err != nil || s.gaveUp != "" || len(s.at) != 4 {
		t.Fatalf("%v after %v, given up %q", err, s.at, s.gaveUp)
	}
	for i, pause := range []time.Duration{40 * time.Second, 80 * time.Second, 160 * time.Second} {
		if got := s.at[i+1] - s.at[i]; got < pause || got > pause+time.Second {
			t.Errorf("pause %d: %v", i+1, got)
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
		s := runMail(t, func(int) (activities.MailResult, error) { return test.result, nil }, 0)
		var got string
		if failure, ok := errors.AsType[*temporal.ApplicationError](s.GetWorkflowError()); ok {
			got = failure.Type()
		}
		if got != test.failed || len(s.at) != 1 || s.gaveUp != "" {
			t.Errorf("%s: %v after %v", name, s.GetWorkflowError(), s.at)
		}
	}
}

// The test environment gives up after ten tries; Temporal does after the time it is given.
func TestMailIsGivenUpAfterADay(t *testing.T) {
	t.Parallel()
	s := runMail(t, func(int) (activities.MailResult, error) { return activities.MailResult{}, errGreylist }, 0)
	if s.GetWorkflowError() == nil || s.gaveUp != "given up after a day" || s.patience != 24*time.Hour {
		t.Errorf("%v, given up %q, patience %v", s.GetWorkflowError(), s.gaveUp, s.patience)
	}
	for i := 1; i < len(s.at); i++ {
		if pause := s.at[i] - s.at[i-1]; pause > time.Hour+time.Second {
			t.Errorf("%v before try %d", pause, i+1)
		}
	}
}

func TestACancelledMailIsGivenUp(t *testing.T) {
	t.Parallel()
	s := runMail(t, func(int) (activities.MailResult, error) { return activities.MailResult{}, errGreylist }, time.Minute)
	if !temporal.IsCanceledError(s.GetWorkflowError()) || s.gaveUp != "cancelled" || len(s.at) != 2 {
		t.Errorf("%v, given up %q, tried at %v", s.GetWorkflowError(), s.gaveUp, s.at)
	}
}

// Mails that were on their way before a release go on after it.
func TestRecordedMailsReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/mail_*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(Mail, workflow.RegisterOptions{Name: string(app.JobMail)})
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
