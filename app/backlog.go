package app

import "time"

// BacklogLimit is how far what waits is counted: a count of so many means that or more.
const BacklogLimit = 100_000

// Backlog is what waits in an installation, of all stores together, for operators to watch.
// Counts end at BacklogLimit.
type Backlog struct {
	OldestEvent *time.Time // when the oldest event happened that no relay has seen; nil = none
	OldestDue   *time.Time // since when the oldest queued delivery could have started; nil = none

	Queued      int // deliveries that have not started, those that wait for a slot of their plan included
	Pending     int // deliveries at their first attempt, or about to
	Retrying    int // deliveries between two attempts
	DeadLetters int // deliveries that have been given up
	Jobs        int // jobs whose workflows have not been started
}
