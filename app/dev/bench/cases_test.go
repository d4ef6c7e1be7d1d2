package main

import (
	"slices"
	"strings"
	"testing"
)

// TestCasesReferToEarlierCases checks that ratios refer only to earlier cases, and to figures that both cases have.
func TestCasesReferToEarlierCases(t *testing.T) {
	t.Parallel()
	keys := map[string][]string{}
	for _, c := range cases() {
		if _, twice := keys[c.name]; twice {
			t.Errorf("name %q: got two cases, want one", c.name)
		}
		for _, needed := range c.needs() {
			if _, earlier := keys[needed]; !earlier {
				t.Errorf("%s needs %s, which does not run earlier", c.name, needed)
			}
		}
		keys[c.name] = []string{}
		for _, f := range c.figures {
			if f.over != "" && !slices.Contains(keys[f.over], f.key) {
				t.Errorf("%s is divided by %s, which has no figure %s", c.name, f.over, f.key)
			}
			keys[c.name] = append(keys[c.name], f.key)
		}
	}
}

func TestSelectCases(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]string{
		"bare":                   "bare",
		"strict":                 "bare,strict",
		"rate-500":               "limit,rate-500",
		"rate-20":                "limit,limit-20,rate-20",
		"loaded-latency, remote": "bare,bursts,remote,loaded-latency",
		"crash":                  "crash",
	} {
		t.Run(only, func(t *testing.T) {
			selected, err := selectCases(cases(), only)
			if err != nil {
				t.Errorf("got error %v, want none", err)
			}
			if got := names(selected); got != want {
				t.Errorf("-only %s: got %s, want %s", only, got, want)
			}
		})
	}
	if _, err := selectCases(cases(), "strict,unknown"); err == nil || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("unknown case: got error %v, want one that names it", err)
	}
	clients, err := selectCases(cases(), "clients")
	if err != nil || len(clients) != len(clientCases()) {
		t.Errorf("table clients: got %s and error %v, want its cases", names(clients), err)
	}
	everything, err := selectCases(cases(), "")
	if err != nil || names(everything)+","+caseNames(true) != strings.ReplaceAll(caseNames(false), ", ", ",") {
		t.Errorf("without -only: got %s and error %v, want all cases", names(everything), err)
	}
}

func names(cases []benchCase) string {
	var all []string
	for _, c := range cases {
		all = append(all, c.name)
	}
	return strings.Join(all, ",")
}

func TestGoals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		goal    goal
		limit   float64
		figure  float64
		reached bool
		text    string
	}{
		{atLeast(6), 1000, 6, true, "≥ 6"},
		{atLeast(6), 1000, 5.9, false, "≥ 6"},
		{atMost(0.16), 1000, 0.16, true, "≤ 0.16"},
		{atMost(0.16), 1000, 0.17, false, "≤ 0.16"},
		{atMost(10).onFastMachines(), 1900, 11, false, "≤ 10"},
		{atMost(10).onFastMachines(), 1500, 10, true, "≤ 10"},
		{atMost(10).onFastMachines(), 1000, 15, true, "≤ 15"},
		{atMost(10).onFastMachines(), 750, 20, true, "≤ 20"},
		{atMost(10).onFastMachines(), 400, 21, false, "≤ 20"},
		{atMost(10).onFastMachines(), 0, 11, false, "≤ 10"},
		{atLeast(1200).onFastMachines(), 1500, 1199, false, "≥ 1200"},
		{atLeast(1200).onFastMachines(), 1000, 800, true, "≥ 800"},
	} {
		goal := test.goal.on(test.limit)
		if goal.String() != test.text || goal.reached(test.figure) != test.reached {
			t.Errorf("%s with limit %v: figure %v reaches the goal: %v",
				goal, test.limit, test.figure, goal.reached(test.figure))
		}
	}
}
