package api

import (
	"context"
	"fmt"
	"maps"

	"github.com/comanda-dev/comanda/app"
)

// Operations that pause ordering.
var (
	pauseOrdering  = handle("pauseOrdering", (*Server).pauseOrdering)
	resumeOrdering = handle("resumeOrdering", (*Server).resumeOrdering)
)

type pauseOrderingIn struct {
	Until  *app.Time `json:"until" validate:"required"`
	Reason string    `json:"reason" validate:"closurereason"`
}

func (s *Server) pauseOrdering(ctx context.Context, c *call, in pauseOrderingIn) (app.Store, error) {
	store, err := s.db.PauseOrdering(ctx, c.now, c.principal.StoreID, c.actor(), in.Until.Time, in.Reason)
	return store.As(c.principal), err
}

type resumeOrderingIn struct{}

func (s *Server) resumeOrdering(ctx context.Context, c *call, _ resumeOrderingIn) (app.Store, error) {
	store, err := s.db.ResumeOrdering(ctx, c.now, c.principal.StoreID, c.actor())
	return store.As(c.principal), err
}

// weekIn is a merge patch of the spans of a fulfillment type. Spans of one type must not overlap.
type weekIn struct {
	Mon nullable[[]spanIn] `json:"mon" validate:"omitempty,spans"`
	Tue nullable[[]spanIn] `json:"tue" validate:"omitempty,spans"`
	Wed nullable[[]spanIn] `json:"wed" validate:"omitempty,spans"`
	Thu nullable[[]spanIn] `json:"thu" validate:"omitempty,spans"`
	Fri nullable[[]spanIn] `json:"fri" validate:"omitempty,spans"`
	Sat nullable[[]spanIn] `json:"sat" validate:"omitempty,spans"`
	Sun nullable[[]spanIn] `json:"sun" validate:"omitempty,spans"`
}

type spanIn struct {
	From app.ClockTime `json:"from" validate:"required,clock"`
	To   app.ClockTime `json:"to" validate:"required,clockend"`
}

type closureIn struct {
	From   string                `json:"from" validate:"required,date"`
	To     string                `json:"to" validate:"required,date"`
	Reason string                `json:"reason" validate:"closurereason"`
	Types  []app.FulfillmentType `json:"types" validate:"omitempty,unique,dive,enum"`
}

// prepMinutesIn is a merge patch of the preparation times.
type prepMinutesIn struct {
	Delivery *int `json:"DELIVERY" validate:"omitempty,dayminutes"`
	Pickup   *int `json:"PICKUP" validate:"omitempty,dayminutes"`
	DineIn   *int `json:"DINE_IN" validate:"omitempty,dayminutes"`
}

// acceptanceIn is a merge patch of the deadlines of acceptance.
type acceptanceIn struct {
	RemindAfterMinutes *int `json:"remindAfterMinutes" validate:"omitempty,dayminutes"`
	CancelAfterMinutes *int `json:"cancelAfterMinutes" validate:"omitempty,dayminutes"`
}

// apply returns the opening hours of a type with the patch applied. It does not modify week.
func (in weekIn) apply(week app.WeekHours) app.WeekHours {
	changed := app.WeekHours{}
	maps.Copy(changed, week)
	for day, spans := range map[app.Weekday]nullable[[]spanIn]{
		"mon": in.Mon, "tue": in.Tue, "wed": in.Wed, "thu": in.Thu, "fri": in.Fri, "sat": in.Sat, "sun": in.Sun,
	} {
		switch {
		case spans == nil:
		case *spans == nil || len(**spans) == 0:
			delete(changed, day)
		default:
			changed[day] = nil
			for _, span := range **spans {
				changed[day] = append(changed[day], app.OpeningSpan(span))
			}
		}
	}
	return changed
}

// applyHours applies the members about opening hours and orders for later.
func (in changeSettingsIn) applyHours(s *app.Settings) {
	s.OpeningHours = patchEach(s.OpeningHours, in.OpeningHours, func(week app.WeekHours, wanted weekIn) app.WeekHours {
		return wanted.apply(week)
	})
	if in.Closures != nil {
		s.Closures = make([]app.Closure, len(*in.Closures))
		for i, closure := range *in.Closures {
			s.Closures[i] = app.Closure(closure)
		}
	}
	if in.PrepMinutes != nil {
		s.PrepMinutes = maps.Clone(s.PrepMinutes)
		for of, minutes := range map[app.FulfillmentType]*int{
			app.FulfillmentDelivery: in.PrepMinutes.Delivery, app.FulfillmentPickup: in.PrepMinutes.Pickup,
			app.FulfillmentDineIn: in.PrepMinutes.DineIn,
		} {
			if minutes != nil {
				s.PrepMinutes[of] = *minutes
			}
		}
	}
	patch(&s.OrderLeadMinutes, in.OrderLeadMinutes)
	patch(&s.OrderMaxDays, in.OrderMaxDays)
	if in.Acceptance != nil {
		patch(&s.Acceptance.RemindAfterMinutes, in.Acceptance.RemindAfterMinutes)
		patch(&s.Acceptance.CancelAfterMinutes, in.Acceptance.CancelAfterMinutes)
	}
}

func (in changeSettingsIn) check() (faults []app.Detail) {
	if in.Closures == nil {
		return nil
	}
	for i, closure := range *in.Closures {
		if closure.To < closure.From {
			path := fmt.Sprintf("closures[%d].to", i)
			faults = append(faults, app.Detail{Path: path, Message: "must not be before from"})
		}
	}
	return faults
}
