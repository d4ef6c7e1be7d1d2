package main

import (
	"encoding/json"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// planned is an operation that a seed decides before the run. Its target, for example one of the open orders, is chosen
// by pick when it begins, from what the earlier operations have created.
type planned struct {
	Number int
	At     time.Duration // from the start of the run
	Site   string
	Kind   string // name of a row of the table of operations
	Pick   uint64 // seed of the choices of this operation
}

// Results of an operation.
const (
	done    = "done"    // a response confirmed it
	refused = "refused" // a response with a status of 4xx refused it, which is a correct response
	unknown = "unknown" // no response, or one with 5xx: it was made or not

	untargeted = "untargeted" // it found nothing on which it could be made
)

// operation is a planned operation that was made.
type operation struct {
	planned
	Begin, End time.Time
	Result     string
	Status     int           // HTTP status of the last response; 0 = none
	Code       string        // error code of the last response
	Tries      int           // requests, with the same idempotency key
	Internal   int           // responses with status 500
	Took       time.Duration // of the last request
	Order      string        // id of its order, "" = none
	Webhook    string        // id of its webhook, "" = none
	Subject    string        // id of another row, for example a payment, "" = none
	Amount     int64         // in minor units, of a payment or refund; else the total of the order
	Version    int64         // of the order or the webhook in the last response, 0 = none
	Attempts   int           // of its delivery before the request
	Attempt    string        // id of the attempt in the response, "" = none
	Detail     string        // for the timeline
}

// request is a POST that a receiver has read.
type request struct {
	At       time.Time // when its body was read
	Site     string
	Webhook  string // id of the webhook, from the path of the receiver
	Receiver string // the path: "/site/name"
	Event    string // header X-Webhook-Id
	Header   http.Header
	Body     []byte
	Behavior string    // what the receiver did with it
	Status   int       // of the response; 0 = none
	Answered time.Time // when the receiver was done with it; zero = never
	Flaw     string    // reason for which a receiver would reject it; "" = none
}

// disturbance is a fault of the run.
type disturbance struct {
	Fault      string
	Detail     string // for example the process
	Gentle     bool   // interrupts no attempt
	Begin, End time.Time
}

// history is everything that the run has seen from outside. It is safe for concurrent use until it is read.
type history struct {
	Seed       uint64
	Lasts      time.Duration // of the plan
	Bursts     string        // COMANDA_BURST
	Begin, End time.Time
	Stores     map[string]string        // id of the store of each site
	Deadlines  map[string]time.Duration // of orders that nobody accepts, by site; none = no deadline

	lock         sync.Mutex
	Operations   []operation
	Requests     []request
	Forgotten    []request // requests that forget has removed
	Disturbances []disturbance
	Rest         string // names of the faults for which no time was left, as the flag --first has them; "" = none
	Suspensions  []suspension
	Readings     []reading
	Watchings    []watching
	Mails        []string                        // ids of the mails that the mail server has accepted
	CashUps      map[string][]comanda.PaymentSum // by site
}

func (h *history) addOperation(o operation) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.Operations = append(h.Operations, o)
}

// beginRequest adds a request and returns its number for endRequest.
func (h *history) beginRequest(r request) int {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.Requests = append(h.Requests, r)
	return len(h.Requests) - 1
}

// endRequest records the response of a receiver. The status 0 is none.
func (h *history) endRequest(n, status int, at time.Time) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.Requests[n].Status, h.Requests[n].Answered = status, at
}

func (h *history) addDisturbance(d disturbance) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.Disturbances = append(h.Disturbances, d)
}

func (h *history) addSuspension(s suspension) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.Suspensions = append(h.Suspensions, s)
}

// write stores the history as JSON.
func (h *history) write(path string) error {
	text, err := json.MarshalIndent(h, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// violation is something that must not happen, found by a checker.
type violation struct {
	Checker string
	Text    string
	Order   string // id of the order concerned, "" = none
	Event   string // id of the event concerned, "" = none
	Webhook string // id of the webhook concerned, "" = none

	At time.Time // when it had happened; zero = unknown
}
