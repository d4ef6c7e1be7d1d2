package main

import (
	"errors"
	"testing"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// TestResults checks the results of the responses of an operation.
func TestResults(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection reset")
	refusal := &comanda.Error{StatusCode: 409, Code: comanda.ErrorCodeInvalidTransition}
	inUse := &comanda.Error{StatusCode: 409, Code: comanda.ErrorCodeIdempotencyKeyInUse}
	for name, test := range map[string]struct {
		responses []error
		result    string
		again     bool
	}{
		"success":                       {[]error{nil}, done, false},
		"refusal":                       {[]error{refusal}, refused, false},
		"no response":                   {[]error{lost}, unknown, true},
		"server error":                  {[]error{&comanda.Error{StatusCode: 503}}, unknown, true},
		"key in use":                    {[]error{inUse}, refused, true},
		"success after a lost response": {[]error{lost, nil}, done, false},
		// The lost request may have been made, which refuses the second one.
		"refusal after a lost response": {[]error{lost, refusal}, unknown, false},
		"refusal after a key in use":    {[]error{inUse, refusal}, refused, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o turn
			again, maybe := false, false
			for _, err := range test.responses {
				again = o.record(err, maybe)
				maybe = maybe || o.Result == unknown
			}
			if o.Result != test.result || again != test.again {
				t.Errorf("got %s, repeat %t, want %s, %t", o.Result, again, test.result, test.again)
			}
		})
	}
}
