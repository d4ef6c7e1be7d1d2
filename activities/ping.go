package activities

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Test sends a test.ping and records it. Like [Deliveries.Deliver], it does not repeat a POST that was made. It returns
// NOT_FOUND if the subscription does not exist.
func (d *Deliveries) Test(ctx context.Context, in app.WebhookTest) (app.WebhookTestResult, error) {
	ctx = context.WithoutCancel(ctx)
	result, err, _ := d.tests.Do(string(in.EventID), func() (any, error) { return d.test(ctx, in) })
	return result.(app.WebhookTestResult), err
}

func (d *Deliveries) test(ctx context.Context, in app.WebhookTest) (app.WebhookTestResult, error) {
	if made, ok := d.unrecorded.find(string(in.EventID)); ok {
		return d.recordTest(ctx, in, made)
	}
	loading, loaded := context.WithTimeout(ctx, d.policy.Load)
	outgoing, err := d.store.OutgoingTest(loading, in)
	loaded()
	switch {
	case err != nil:
		return app.WebhookTestResult{}, err
	case outgoing.Recorded != nil:
		r := outgoing.Recorded
		return testResult(in, r.Status, r.StatusCode, r.ResponseTimeMs, r.Error), nil
	case outgoing.Unreadable:
		return app.WebhookTestResult{}, d.unreadable(outgoing)
	}
	made, err := d.post(ctx, outgoing, func() error { return nil })
	if err != nil {
		return app.WebhookTestResult{}, err
	}
	return d.recordTest(ctx, in, made)
}

func (d *Deliveries) recordTest(
	ctx context.Context, in app.WebhookTest, made app.MadeAttempt,
) (app.WebhookTestResult, error) {
	d.unrecorded.keep(string(in.EventID), made, d.now())
	ctx, recorded := context.WithTimeout(ctx, d.policy.Record)
	defer recorded()
	if err := d.store.RecordTest(ctx, made); err != nil {
		return app.WebhookTestResult{}, err
	}
	d.unrecorded.drop(string(in.EventID))
	return testResult(in, made.Status, made.StatusCode, made.Duration.Milliseconds(), made.Error), nil
}

func testResult(
	in app.WebhookTest, status app.AttemptStatus, code int, ms int64, reason string,
) app.WebhookTestResult {
	return app.WebhookTestResult{
		Delivered: status == app.AttemptDelivered, StatusCode: code, ResponseTimeMs: ms, EventID: in.EventID,
		Error: reason,
	}
}
