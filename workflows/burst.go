package workflows

import (
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// BurstInput is the input of a burst's workflow. Like [DeliveryInput], it holds ids and policy.
type BurstInput struct {
	ID         app.BurstID                `json:"id"`
	Deliveries []activities.BurstDelivery `json:"deliveries"`
	Policy     Policy                     `json:"policy"`
}

// BurstState is the response to the query "state": the outcome of each delivery.
type BurstState []BurstedDelivery

// BurstedDelivery is the state of one delivery in its burst.
type BurstedDelivery struct {
	EventID        app.EventID        `json:"eventId"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	DeliveryID     app.DeliveryID     `json:"deliveryId"`
	State          string             `json:"state"`                // "attempting" or an outcome
	Reason         string             `json:"reason,omitempty"`     // empty if delivered
	WorkflowID     string             `json:"workflowId,omitempty"` // workflow that continues the delivery
}

// Burst makes the first attempts of many deliveries concurrently. A delivery whose first attempt does not succeed
// continues as a workflow of type Delivery, which the activity starts.
//
// Burst ignores cancellation, because it would affect all deliveries of the burst. Operators cancel deliveries through
// their webhook.
func Burst(ctx workflow.Context, in BurstInput) (activities.BurstResult, error) {
	var result *activities.BurstResult
	err := workflow.SetQueryHandler(ctx, QueryState, func() (BurstState, error) { return burstState(in, result), nil })
	if err != nil {
		return activities.BurstResult{}, err
	}
	delay, _ := in.Policy.Schedule.Delay(1)
	made, err := deliverBurst(ctx, in, activities.BurstInput{Deliveries: in.Deliveries, RetryIn: delay})
	if err != nil {
		return made, err
	}
	result = &made
	workflow.SetCurrentDetails(ctx, burstDetails(made))
	return made, nil
}

func deliverBurst(
	ctx workflow.Context, in BurstInput, attempts activities.BurstInput,
) (result activities.BurstResult, err error) {
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	detached = workflow.WithLocalActivityOptions(detached, workflow.LocalActivityOptions{
		StartToCloseTimeout:    in.Policy.AttemptLimit,
		ScheduleToCloseTimeout: 365 * 24 * time.Hour, // see fastLane
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
		Summary: "first attempts of " + strconv.Itoa(len(in.Deliveries)) + " deliveries",
	})
	err = workflow.ExecuteLocalActivity(detached, activityDeliverBurst, attempts).Get(detached, &result)
	return result, err
}

// burstState returns the state of each delivery. result is nil while attempts are in progress.
func burstState(in BurstInput, result *activities.BurstResult) BurstState {
	others := map[app.DeliveryID]activities.BurstOther{}
	if result != nil {
		for _, other := range result.Others {
			others[other.DeliveryID] = other
		}
	}
	state := make(BurstState, len(in.Deliveries))
	for i, d := range in.Deliveries {
		state[i] = BurstedDelivery{
			EventID: d.EventID, SubscriptionID: d.SubscriptionID, DeliveryID: d.DeliveryID, State: stateAttempting,
		}
		if result == nil {
			continue
		}
		state[i].State = string(activities.OutcomeDelivered)
		if other, ok := others[d.DeliveryID]; ok {
			state[i].State, state[i].Reason = string(other.Outcome), other.Reason
		}
		if state[i].State == string(activities.OutcomeContinues) {
			state[i].WorkflowID = app.DeliveryWorkflowID(d.EventID, d.SubscriptionID)
		}
	}
	return state
}

// burstDetails summarizes the outcomes of a burst for operators.
func burstDetails(result activities.BurstResult) string {
	counts := map[activities.Outcome]int{}
	for _, other := range result.Others {
		counts[other.Outcome]++
	}
	details := []string{strconv.Itoa(result.Delivered) + " delivered"}
	switch n := counts[activities.OutcomeContinues]; n {
	case 0:
	case 1:
		details = append(details, "1 continues as its own workflow")
	default:
		details = append(details, strconv.Itoa(n)+" continue as their own workflows")
	}
	if n := counts[activities.OutcomeDeadLetter]; n > 0 {
		details = append(details, strconv.Itoa(n)+" dead letter")
	}
	if n := counts[activities.OutcomeCancelled]; n > 0 {
		details = append(details, strconv.Itoa(n)+" cancelled")
	}
	return strings.Join(details, ", ")
}
