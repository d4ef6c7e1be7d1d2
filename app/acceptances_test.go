package app

import (
	"testing"
	"time"
)

func TestAcceptanceSteps(t *testing.T) {
	t.Parallel()
	const m = time.Minute
	both, remind, cancel := Acceptance{5, 10}, Acceptance{5, 0}, Acceptance{0, 10}
	for name, c := range map[string]struct {
		rules    Acceptance
		waited   time.Duration
		reminded bool
		want     AcceptanceStep
	}{
		"off":                           {Acceptance{}, 0, false, AcceptanceStep{Off: true}},
		"off before it is due":          {Acceptance{}, -3 * m, false, AcceptanceStep{Wait: 3 * m}},
		"switched off after a reminder": {Acceptance{}, 7 * m, true, AcceptanceStep{Off: true}},
		"before it is due":              {both, -3 * m, false, AcceptanceStep{Wait: 3 * m}},
		"at the start":                  {both, 0, false, AcceptanceStep{Wait: 5 * m}},
		"before the reminder":           {both, 5*m - 1, false, AcceptanceStep{Wait: 1}},
		"at the reminder":               {both, 5 * m, false, AcceptanceStep{Remind: true, Wait: 5 * m}},
		"after the reminder":            {both, 6 * m, true, AcceptanceStep{Wait: 4 * m}},
		"at the cancellation":           {both, 10 * m, true, AcceptanceStep{Cancel: true}},
		"after both":                    {both, 600 * m, false, AcceptanceStep{Cancel: true}},
		"a reminder alone":              {remind, 5 * m, false, AcceptanceStep{Remind: true}},
		"after a reminder alone":        {remind, 600 * m, true, AcceptanceStep{}},
		"a cancellation alone":          {cancel, 5 * m, false, AcceptanceStep{Wait: 5 * m}},
		"a later reminder, shown twice": {Acceptance{8, 20}, 6 * m, true, AcceptanceStep{Wait: 14 * m}},
	} {
		if got := c.rules.Step(c.waited, c.reminded); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
