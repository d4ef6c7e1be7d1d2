package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

const (
	activitySendMail   = "SendMail"
	activityGiveUpMail = "GiveUpMail"

	// mailPatience is how long a mail is tried: what it tells is stale a day later.
	mailPatience = 24 * time.Hour
	// mailRefused is the type of the error with which the workflow of a refused mail fails.
	mailRefused = "MailRefused"
)

// Mail sends one mail: again and again with growing pauses, until the mail server takes or
// refuses it, or for a day. A mail that was not sent fails its workflow, so that operators
// find it; one that has become obsolete does not. Mails have a queue of their own: the warning
// that a receiver hangs does not wait behind the attempts that hang there, nor do attempts
// and jobs wait behind a mail server that hangs.
func Mail(ctx workflow.Context, in JobInput) (activities.MailResult, error) {
	mail := activities.MailInput{StoreID: in.StoreID, MailID: app.MailID(in.Subject)}
	workflow.SetCurrentDetails(ctx, "being sent; what failed last is with the pending activity")
	var result activities.MailResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: MailTaskQueue, StartToCloseTimeout: activities.MailLimit, ScheduleToCloseTimeout: mailPatience,
		Summary: "send the mail",
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: activities.MailLease, BackoffCoefficient: 2, MaximumInterval: time.Hour,
		},
		WaitForCancellation: true, // a try that has begun is finished and recorded
	}), activitySendMail, mail).Get(ctx, &result)
	switch {
	case temporal.IsCanceledError(err):
		return giveUpMail(ctx, mail, "cancelled", err)
	case err != nil:
		return giveUpMail(ctx, mail, "given up after a day", err)
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

// giveUpMail records that a mail is not tried again, and returns the error that ends the
// workflow.
func giveUpMail(
	ctx workflow.Context, mail activities.MailInput, reason string, cause error,
) (activities.MailResult, error) {
	result := activities.MailResult{Status: app.MailFailed, Reason: reason}
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	detached = workflow.WithActivityOptions(detached, workflow.ActivityOptions{
		TaskQueue: MailTaskQueue, StartToCloseTimeout: 10 * time.Second, Summary: "record that the mail is given up",
	})
	in := activities.GiveUpInput{MailInput: mail, Reason: reason}
	if err := workflow.ExecuteActivity(detached, activityGiveUpMail, in).Get(detached, nil); err != nil {
		return result, err
	}
	workflow.SetCurrentDetails(ctx, reason)
	return result, cause
}
