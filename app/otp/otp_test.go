package otp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/otp"
)

// secret is the key of RFC 6238, appendix B.
var secret = app.NewSecret("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")

// TestCode compares codes with the last six digits of the test vectors of RFC 6238.
func TestCode(t *testing.T) {
	t.Parallel()
	vectors := map[int64]string{59: "287082", 1111111109: "081804", 1234567890: "005924", 20000000000: "353130"}
	for at, want := range vectors {
		got, err := otp.Code(secret, time.Unix(at, 0))
		if err != nil || got != want {
			t.Errorf("code at %d: got %q and error %v, want %q", at, got, err, want)
		}
	}
}

// TestMatch checks the tolerance of one step, and that the step of an accepted code is not accepted again.
func TestMatch(t *testing.T) {
	t.Parallel()
	now := time.Unix(1111111109, 0)
	current := now.Unix() / 30
	for _, test := range []struct {
		offset, last int64
		want         bool
	}{
		{offset: 0, want: true}, {offset: -1, want: true}, {offset: 1, want: true}, {offset: -2}, {offset: 2},
		{offset: 0, last: current}, {offset: 1, last: current, want: true}, {offset: -1, last: current},
	} {
		t.Run(fmt.Sprintf("offset %d after %d", test.offset, test.last), func(t *testing.T) {
			t.Parallel()
			code, err := otp.Code(secret, now.Add(time.Duration(test.offset)*30*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			step, ok, err := otp.Match(secret, app.NewSecret(code[:3]+" "+code[3:]), now, test.last)
			if err != nil || ok != test.want || ok && step != current+test.offset {
				t.Errorf("got step %d, %t and error %v, want step %d, %t", step, ok, err, current+test.offset, test.want)
			}
		})
	}
}
