package main

import (
	"net"
	"net/http"
	"time"
)

// behavior is what a receiver does with a request that it has read.
type behavior struct {
	name    string
	respond func(a *attempt)
	// choose returns the behavior of a receiver at a time since the start of the run; nil = respond is the behavior.
	choose func(path string, at time.Duration) *behavior
}

// attempt is a request to which a receiver responds.
type attempt struct {
	*recorded
	*http.Request
	draw int // 0 to 99
}

const (
	// slowly is the longest time of a receiver that responds late, but in time.
	slowly = 1500 * time.Millisecond
	// tooLate is the time after which it sometimes responds instead: the attempt has failed.
	tooLate = deliveryTimeout + time.Second
	// inTime is the number of a hundred requests to which it responds in time.
	inTime = 85
	// mindTime is the time after which a receiver changes its mind.
	mindTime = 8 * time.Second
)

var (
	responds = &behavior{name: "responds", respond: func(a *attempt) { a.WriteHeader(http.StatusNoContent) }}

	sometimes = &behavior{name: "fails sometimes", respond: func(a *attempt) {
		status := http.StatusOK
		if a.draw < 40 {
			status = http.StatusServiceUnavailable
		}
		a.WriteHeader(status)
	}}

	fails = &behavior{name: "fails", respond: func(a *attempt) { a.WriteHeader(http.StatusInternalServerError) }}

	// hangs waits until the sender closes the connection.
	hangs = &behavior{name: "hangs", respond: func(a *attempt) {
		<-a.Context().Done()
		panic(http.ErrAbortHandler)
	}}

	resets = &behavior{name: "resets", respond: func(a *attempt) {
		conn := a.connection()
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // closes with RST
		}
		conn.Close()
	}}

	closes = &behavior{name: "closes after reading", respond: func(a *attempt) { a.connection().Close() }}

	late = &behavior{name: "responds late", respond: func(a *attempt) {
		if a.draw >= inTime {
			time.Sleep(tooLate) // the sender closes the connection meanwhile
			a.WriteHeader(http.StatusOK)
			return
		}
		select {
		case <-time.After(slowly * time.Duration(a.draw) / 100):
			a.WriteHeader(http.StatusOK)
		case <-a.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}}

	changes = &behavior{name: "changes its mind", choose: func(path string, at time.Duration) *behavior {
		minds := []*behavior{responds, fails, responds, hangs, responds, resets}
		return minds[draw(path, "", int(at/mindTime))%len(minds)]
	}}
)

// behaviors are the behaviors of receivers. One that is listed several times has more receivers.
var behaviors = []*behavior{
	responds, responds, responds, responds, responds, responds, sometimes, sometimes, late, changes, fails, resets, closes,
	hangs,
}
