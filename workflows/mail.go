package workflows

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

const (
	activitySendMail   = "SendMail"
	activityGiveUpMail = "GiveUpMail"

	// mailTimeout is the time after which sending is given up, because the content of a mail is outdated then.
	mailTimeout = 24 * time.Hour
	// mailRefused is the type of the error with which the workflow of a rejected mail fails.
	mailRefused = "MailRefused"
	// mailUnrecorded is the type of the error of an activity whose response was not recorded.
	mailUnrecorded = "MailUnrecorded"
)

// Mail sends one mail. It retries with increasing pauses until the mail server accepts or permanently rejects the mail,
// for at most a day. If the mail was not sent, the workflow fails, so that operators find it. If the mail has become
// obsolete, the workflow completes. Mails have their own task queue: a warning about a hanging receiver does not wait
// for its attempts, and attempts and jobs do not wait for a hanging mail server.
func Mail(ctx workflow.Context, in JobInput) (activities.MailResult, error) {
	workflow.SetCurrentDetails(ctx, "sending; the pending activity shows the last error")
	var result activities.MailResult
	sending := workflow.WithActivityOptions(ctx, mailOptions(in))
	err := workflow.ExecuteActivity(sending, activitySendMail, mailOf(in)).Get(ctx, &result)
	switch {
	case temporal.IsCanceledError(err):
		return giveUpMail(ctx, in, "cancelled", err)
	case err != nil:
		return giveUpMail(ctx, in, "given up after a day", err)
	case result.Status == app.MailFailed:
		workflow.SetCurrentDetails(ctx, "refused: "+result.Reason)
		return result, temporal.NewNonRetryableApplicationError(result.Reason, mailRefused, nil)
	case result.Status == app.MailObsolete:
		workflow.SetCurrentDetails(ctx, "not sent: "+result.Reason)
	default:
		workflow.SetCurrentDetails(ctx, "sent")
	}
	return result, nil
}

// mailOptions returns the options of the activity that sends a mail.
func mailOptions(in JobInput) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: MailTaskQueue, StartToCloseTimeout: activities.MailLimit, ScheduleToCloseTimeout: mailTimeout,
		Summary: "send the mail", Priority: in.priority(),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: activities.MailLease, BackoffCoefficient: 2, MaximumInterval: time.Hour,
		},
		WaitForCancellation: true, // a running execution finishes and records its result
	}
}

// mailStoreDelay is the pause after an attempt that failed because of Comanda's database. The pauses of the mail
// server, which double, do not apply to it.
const mailStoreDelay = 5 * time.Second

// sendMail returns the activity that sends a mail. It heartbeats the response of the mail server, so that a repeated
// execution records the response and does not send the mail again. The pause after an error of Comanda's database, and
// after a claim of another worker, is fixed.
func sendMail(
	mails *activities.Mails,
) func(context.Context, activities.MailInput) (activities.MailResult, error) {
	return func(ctx context.Context, in activities.MailInput) (activities.MailResult, error) {
		var result activities.MailResult
		var err error
		if activity.HasHeartbeatDetails(ctx) {
			if err = activity.GetHeartbeatDetails(ctx, &result); err == nil {
				result, err = mails.Record(ctx, in, result)
			}
		} else {
			result, err = mails.Send(ctx, in, func(response activities.MailResult) {
				activity.RecordHeartbeat(ctx, response)
			})
		}
		switch code := app.CodeOf(err); {
		case err == nil:
		case result.Status != "":
			err = mailError("cannot record the response of the mail server", mailUnrecorded, err, mailStoreDelay)
		case code == app.CodeUnavailable:
			err = mailError("cannot load the mail", string(code), err, mailStoreDelay)
		case code == app.CodeConflict: // another worker has claimed it
			err = mailError("cannot claim the mail", string(code), err, activities.MailLease)
		}
		return result, err
	}
}

// mailError returns an error after which the activity is executed again after a pause.
func mailError(message, kind string, cause error, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(message, kind,
		temporal.ApplicationErrorOptions{Cause: cause, NextRetryDelay: pause})
}

func mailOf(job JobInput) activities.MailInput {
	return activities.MailInput{StoreID: job.StoreID, MailID: app.MailID(job.Subject)}
}

// giveUpMail records that a mail will not be sent. It returns cause, or the error of recording.
func giveUpMail(
	ctx workflow.Context, job JobInput, reason string, cause error,
) (activities.MailResult, error) {
	result := activities.MailResult{Status: app.MailFailed, Reason: reason}
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	detached = workflow.WithActivityOptions(detached, workflow.ActivityOptions{
		TaskQueue: MailTaskQueue, StartToCloseTimeout: 10 * time.Second, Summary: "record that the mail is given up",
		Priority: job.priority(),
	})
	in := activities.GiveUpInput{MailInput: mailOf(job), Reason: reason}
	if err := workflow.ExecuteActivity(detached, activityGiveUpMail, in).Get(detached, nil); err != nil {
		return result, err
	}
	workflow.SetCurrentDetails(ctx, reason)
	return result, cause
}
