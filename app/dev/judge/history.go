package main

import (
	"net/http"
	"sync"
	"time"
)

// planned is an operation that a seed decides before the run. Its target, for example one of the open orders, is chosen
// by pick when it begins, from what the earlier operations have created.
type planned struct {
	Number int
	At     time.Duration // from the begin of the run
	Site   string
	Kind   string // name of a row of the table of operations
	Pick   uint64 // seed of the choices of this operation
}

// Results of an operation.
const (
	done    = "done"    // a response confirmed it
	refused = "refused" // a response with a status of 4xx refused it, which is a correct response
	unknown = "unknown" // no response, or one with 5xx: it was made or not
)

// operation is a planned operation that was made.
type operation struct {
	planned
	Begin, End time.Time
	Result     string
	Status     int    // HTTP status of the last response; 0 = none
	Code       string // error code of the last response
	Tries      int    // requests, with the same idempotency key
	Order      string // id of its order, "" = none
	Webhook    string // id of its webhook, "" = none
	Detail     string // for the timeline
}

// request is a POST that a receiver has read.
type request struct {
	At       time.Time // when its body was read
	Site     string
	Webhook  string // id of the webhook, from the path of the receiver
	Event    string // header X-Webhook-Id
	Header   http.Header
	Body     []byte
	Behavior string // what the receiver did with it
	Status   int    // of the response; 0 = none
	Answered time.Time
}

// disturbance is a fault of the run.
type disturbance struct {
	Fault      string
	Detail     string // for example the process
	Begin, End time.Time
}

// history is everything that the run has seen from outside. It is safe for concurrent use until it is read.
type history struct {
	Seed       uint64
	Begin, End time.Time

	lock         sync.Mutex
	Operations   []operation
	Requests     []request
	Disturbances []disturbance
}

func (h *history) addOperation(o operation) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.Operations = append(h.Operations, o)
}

func (h *history) addRequest(r request) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.Requests = append(h.Requests, r)
}

func (h *history) addDisturbance(d disturbance) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.Disturbances = append(h.Disturbances, d)
}

// violation is something that must not happen, found by a checker.
type violation struct {
	Checker string
	Text    string
	Order   string // id of the order concerned, "" = none
	Event   string // id of the event concerned, "" = none
	Webhook string // id of the webhook concerned, "" = none
}
