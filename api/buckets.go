package api

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Defaults of COMANDA_API_RATE, COMANDA_API_BURST, COMANDA_WEBSITE_RATE and COMANDA_WEBSITE_BURST
// (docs/behaviour.md#rate-limits).
const (
	defaultAPIRate      = 50 // requests a second
	defaultAPIBurst     = 100
	defaultWebsiteRate  = 10 * defaultAPIRate
	defaultWebsiteBurst = 10 * defaultAPIBurst
)

// maxBuckets limits the buckets of a generation, each with about 200 bytes. Beyond it, buckets may be forgotten early.
const maxBuckets = 100_000

// buckets are the token buckets of this process: one of each credential and one of each website.
type buckets struct {
	now func() time.Time

	mu                    sync.Mutex
	last                  time.Time // of the latest request
	credentials, websites family
}

// family are buckets of one size. A bucket that is not used until it is full equals a new one, so buckets are kept for
// two generations, each of which lasts at least that time.
type family struct {
	name  string // in RateLimit
	rate  rate.Limit
	burst int
	fill  time.Duration // until an empty bucket is full

	began           time.Time // of the current generation
	newer, previous map[string]*rate.Limiter
}

func newFamily(name string, perSecond, burst, defaultRate, defaultBurst int) family {
	if perSecond == 0 {
		perSecond = defaultRate
	}
	if burst == 0 {
		burst = defaultBurst
	}
	return family{
		name: name, rate: rate.Limit(perSecond), burst: burst, newer: map[string]*rate.Limiter{},
		fill: time.Duration(burst) * time.Second / time.Duration(perSecond),
	}
}

func newBuckets(c Config) *buckets {
	return &buckets{
		now:         c.Now,
		credentials: newFamily("credential", c.APIRate, c.APIBurst, defaultAPIRate, defaultAPIBurst),
		websites:    newFamily("website", c.WebsiteRate, c.WebsiteBurst, defaultWebsiteRate, defaultWebsiteBurst),
	}
}

// filling is the state of a bucket after a request.
type filling struct {
	of     *family
	tokens int           // for further requests
	full   time.Duration // until the bucket is full
	wait   time.Duration // until a refused request can be repeated; 0 = admitted
}

// take takes a token from the bucket of a credential and from that of its website, unless one is empty: then it takes
// none. It returns the state of the bucket that is nearer to its end. A platform administrator has no website ("").
//
// The time is read under the lock and never goes back. rate.Limiter would set its clock to an earlier time, and then
// add the tokens of the same time again.
func (b *buckets) take(credential, website string) filling {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.now(); now.After(b.last) {
		b.last = now
	}
	own, reservation := b.credentials.take(b.last, credential)
	if own.wait > 0 || website == "" {
		return own
	}
	shared, _ := b.websites.take(b.last, website)
	if shared.wait > 0 {
		reservation.CancelAt(b.last)
	}
	if shared.wait > 0 || shared.tokens < own.tokens {
		return shared
	}
	return own
}

// take takes a token from a bucket, unless it is empty.
func (f *family) take(now time.Time, owner string) (filling, *rate.Reservation) {
	bucket := f.bucket(now, owner)
	r := bucket.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	tokens := max(bucket.TokensAt(now), 0)
	missing := (float64(f.burst) - tokens) / float64(f.rate)
	return filling{f, int(tokens), time.Duration(missing * float64(time.Second)), wait}, r
}

// bucket returns the bucket of an owner, which is full if the owner has no bucket.
func (f *family) bucket(now time.Time, owner string) *rate.Limiter {
	if now.Sub(f.began) >= f.fill || len(f.newer) >= maxBuckets {
		f.newer, f.previous, f.began = map[string]*rate.Limiter{}, f.newer, now
	}
	bucket := f.newer[owner]
	if bucket == nil {
		if bucket = f.previous[owner]; bucket == nil {
			bucket = rate.NewLimiter(f.rate, f.burst)
		}
		f.newer[owner] = bucket
	}
	return bucket
}

// policy returns the value of RateLimit-Policy.
func (f *family) policy() string {
	return fmt.Sprintf(`"%s";q=%d;w=%d`, f.name, f.burst, seconds(f.fill))
}

// header returns the value of RateLimit (draft-ietf-httpapi-ratelimit-headers-10): the remaining requests, and the
// seconds until the bucket is full.
func (f filling) header() string {
	return fmt.Sprintf(`"%s";r=%d;t=%d`, f.of.name, f.tokens, seconds(f.full))
}

// seconds rounds a duration up to whole seconds.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
