package main

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TestPlanIsRepeatable checks that a seed decides the operations.
func TestPlanIsRepeatable(t *testing.T) {
	t.Parallel()
	one := newPlan(7, time.Minute)
	if again := newPlan(7, time.Minute); !reflect.DeepEqual(one, again) {
		t.Error("two plans of one seed differ")
	}
	if other := newPlan(8, time.Minute); reflect.DeepEqual(one, other) {
		t.Error("plans of two seeds are equal")
	}
	for i, p := range one {
		if p.Number != i+1 || i > 0 && p.At < one[i-1].At || p.At >= time.Minute {
			t.Fatalf("operation %d: got %+v after %s", i+1, p, one[max(0, i-1)].At)
		}
	}
}

// TestPlanHasEveryKind checks that a long run makes all kinds of operations at all of their sites, and pairs of them at
// the same time.
func TestPlanHasEveryKind(t *testing.T) {
	t.Parallel()
	type pair struct{ kind, site string }
	got := map[pair]int{}
	twins := 0
	plan := newPlan(1, 10*time.Minute)
	for i, p := range plan {
		got[pair{p.Kind, p.Site}]++
		if i > 0 && p.Pick == plan[i-1].Pick {
			twins++
		}
	}
	for _, k := range kinds {
		for _, site := range k.sites {
			if got[pair{k.name, site}] == 0 {
				t.Errorf("%s of %s is not in the plan", k.name, site)
			}
		}
	}
	if part := len(plan) / twinPart; twins < part/2 || twins > part*2 {
		t.Errorf("pairs of operations: got %d of %d operations, want about %d", twins, len(plan), part)
	}
}

// TestInvitationsExceedABudget checks that the websites of a run of two minutes together invite the stranger more often
// than one of them may mail an address, and that more than one of them invites.
func TestInvitationsExceedABudget(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		invitations := map[string]int{}
		for _, p := range newPlan(seed, 2*time.Minute) {
			if p.Kind == "invite" {
				invitations[p.Site]++
			}
		}
		total := 0
		for _, n := range invitations {
			total += min(n, app.InvitationsPerHour)
		}
		if want := 5 * app.MailsPerAddress / 4; total < want || len(invitations) < 2 {
			t.Errorf("seed %d: got the invitations %v, want %d of several websites", seed, invitations, want)
		}
	}
}

// TestKinds checks the table of kinds.
func TestKinds(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, k := range kinds {
		if names[k.name] || k.weight == 0 || len(k.sites) == 0 || k.required && k.refused {
			t.Errorf("kind %+v", k)
		}
		names[k.name] = true
		for _, site := range k.sites {
			if !slices.Contains(everywhere, site) {
				t.Errorf("kind %s has the unknown site %s", k.name, site)
			}
		}
	}
}
