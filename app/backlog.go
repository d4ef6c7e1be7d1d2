package app

import "time"

// BacklogLimit is the highest count in a [Backlog]. It means "this many or more".
const BacklogLimit = 100_000

// Backlog counts the unfinished work of the installation, over all stores, for monitoring. Counts stop at
// BacklogLimit.
type Backlog struct {
	OldestEvent *time.Time // time of the oldest event that has not been dispatched; nil = none
	OldestDue   *time.Time // time since which the oldest queued delivery could have started; nil = none
	OldestHeld  *time.Time // time since which the oldest held-back delivery waits for its turn; nil = none

	Queued      int // deliveries that have not started, including those that wait for a later window of their plan
	Held        int // deliveries that are held back until their turn; Queued does not include them
	Pending     int // deliveries whose first attempt, or first attempt of a replay, is due or running
	Retrying    int // deliveries that wait for a retry
	DeadLetters int // deliveries that ended without success
	Jobs        int // jobs whose workflows have not been started
}
