package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// lostRetry is the Retry-After of a retry whose workflow is closed or unknown: the reconciler needs a minute.
const lostRetry = time.Minute

// Retrier makes the next attempt of a retrying delivery now and waits for its end. Concurrent calls for one attempt
// share it. It returns UNAVAILABLE if there is no result in time; the attempt may still be made.
type Retrier interface {
	RetryDelivery(ctx context.Context, retry app.DeliveryRetry) (app.RetryOutcome, error)
}

// retryDelivery has the workflow of the delivery make the attempt, so that it cannot race the timer of the schedule.
func (s *Server) retryDelivery(ctx context.Context, c *call, in deliveryIn) (app.Attempt, error) {
	store := c.principal.StoreID
	retry, err := s.db.RequestRetry(ctx, c.now, store, c.actor(), in.ID)
	if err != nil {
		return app.Attempt{}, err
	}
	if retry.Made != nil {
		return *retry.Made, nil
	}
	if s.retrier == nil {
		return app.Attempt{}, errors.New("this server has nobody to retry deliveries")
	}
	outcome, err := s.retrier.RetryDelivery(ctx, retry)
	if err != nil {
		return app.Attempt{}, err
	}
	made, err := s.db.RetryResult(ctx, c.now, store, in.ID, retry.Number)
	switch {
	case err != nil:
		return app.Attempt{}, err
	case made != nil:
		return *made, nil
	case outcome == app.RetryBusy:
		return app.Attempt{}, app.Errorf(app.CodeDeliveryInProgress, "an attempt is in progress; wait for its result")
	case outcome == app.RetryLost:
		err = s.db.CheckSoon(ctx, store, in.ID)
	}
	return app.Attempt{}, errors.Join(
		fmt.Errorf("%w: the workflow has not made the attempt: %s", app.Unavailable(lostRetry), outcome), err)
}
