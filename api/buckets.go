package api

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Defaults of COMANDA_API_RATE and COMANDA_API_BURST (docs/behaviour.md#rate-limits).
const (
	defaultAPIRate  = 50 // requests a second
	defaultAPIBurst = 100
)

// maxBuckets limits the buckets of a generation, each with about 200 bytes. Beyond it, buckets may be forgotten early.
const maxBuckets = 100_000

// buckets are the token buckets of credentials in this process. A bucket that is not used until it is full equals a
// new one, so buckets are kept for two generations, each of which lasts at least that time.
type buckets struct {
	rate   rate.Limit
	burst  int
	fill   time.Duration // until an empty bucket is full
	policy string        // value of RateLimit-Policy

	mu              sync.Mutex
	began           time.Time // of the current generation
	newer, previous map[string]*rate.Limiter
}

func newBuckets(perSecond, burst int) *buckets {
	if perSecond == 0 {
		perSecond = defaultAPIRate
	}
	if burst == 0 {
		burst = defaultAPIBurst
	}
	b := &buckets{
		rate: rate.Limit(perSecond), burst: burst, newer: map[string]*rate.Limiter{},
		fill: time.Duration(burst) * time.Second / time.Duration(perSecond),
	}
	b.policy = fmt.Sprintf(`"credential";q=%d;w=%d`, burst, seconds(b.fill))
	return b
}

// filling is the state of a bucket after a request.
type filling struct {
	tokens int           // for further requests
	full   time.Duration // until the bucket is full
	wait   time.Duration // until a refused request can be repeated; 0 = admitted
}

// take takes a token from the bucket of a credential, unless it is empty.
func (b *buckets) take(now time.Time, credential string) filling {
	b.mu.Lock()
	defer b.mu.Unlock()
	bucket := b.of(now, credential)
	var wait time.Duration
	if r := bucket.ReserveN(now, 1); r.DelayFrom(now) > 0 {
		wait = r.DelayFrom(now)
		r.CancelAt(now)
	}
	tokens := max(bucket.TokensAt(now), 0)
	missing := (float64(b.burst) - tokens) / float64(b.rate)
	return filling{int(tokens), time.Duration(missing * float64(time.Second)), wait}
}

// of returns the bucket of a credential, which is full if the credential has no bucket.
func (b *buckets) of(now time.Time, credential string) *rate.Limiter {
	if now.Sub(b.began) >= b.fill || len(b.newer) >= maxBuckets {
		b.newer, b.previous, b.began = map[string]*rate.Limiter{}, b.newer, now
	}
	bucket := b.newer[credential]
	if bucket == nil {
		if bucket = b.previous[credential]; bucket == nil {
			bucket = rate.NewLimiter(b.rate, b.burst)
		}
		b.newer[credential] = bucket
	}
	return bucket
}

// header returns the value of RateLimit (draft-ietf-httpapi-ratelimit-headers-10): the remaining requests, and the
// seconds until the bucket is full.
func (f filling) header() string {
	return fmt.Sprintf(`"credential";r=%d;t=%d`, f.tokens, seconds(f.full))
}

// seconds rounds a duration up to whole seconds.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
