package pg

import "time"

// Purpose is the kind of work for which connections are reserved, so that other work cannot delay it. It is also the
// name of a pool in the metrics.
type Purpose string

const (
	Operations Purpose = "operations" // of the API
	Lookups    Purpose = "lookups"    // before an operation: credential, session and limits of requests
	Relay      Purpose = "relay"      // claims, takeover and repair of deliveries
	Dispatch   Purpose = "dispatch"   // of events
	Attempts   Purpose = "attempts"   // to load and to record them
	Jobs       Purpose = "jobs"       // steps that may take long
	Deadlines  Purpose = "deadlines"  // short steps for which people wait: acceptance, sold-out products and mails
)

// Pool is the configuration of one pool.
type Pool struct {
	Role    string // RoleApp or RoleSystem
	Purpose Purpose
	Conns   int

	// Limits that protect other callers; 0 = unlimited.
	Statement time.Duration // for a statement, and for a pause between two statements of a transaction
	Lock      time.Duration // for a wait for a lock
	Account   time.Duration // for a wait for a lock in a transaction that calls [DB.LimitAccountLocks]
	Wait      time.Duration // for a wait for a connection
}

// MinConns is the minimum number of connections of a process.
const MinConns = 12

// share is the part of a process's connections that a small pool gets: 1/share.
const share = 6

// minAcross is the minimum number of connections of the API for all stores. Half of them are for requests without a
// credential: those in progress and their work after the response have one each.
const minAcross = 4

// Limits of the pools.
const (
	requestStatement  = 10 * time.Second // the API responds after 15 s at the latest
	requestLock       = 2 * time.Second
	accountLock       = 250 * time.Millisecond // requests for one slow account must not occupy the connections of all
	relayStatement    = 5 * time.Second        // half of a lease
	relayLock         = 500 * time.Millisecond // claims of many tenants share a statement
	dispatchLock      = 100 * time.Millisecond // events of many tenants share a statement, which then runs for each apart
	attemptsStatement = 10 * time.Second
	attemptsLock      = 250 * time.Millisecond // attempts of many tenants share a statement, and have 3 s to be recorded
	jobsStatement     = time.Minute            // for steps of retention, bulk replays and erasure
	deadlineStatement = 5 * time.Second
	deadlineLock      = time.Second // a store whose rows are locked must not occupy the connections

	requestWait = 3 * time.Second
	workerWait  = 5 * time.Second // then the relay or Temporal repeats the call
)

// ServePools returns the pools of a process that serves the API, with conns connections in total, at least [MinConns].
func ServePools(conns int) []Pool {
	lookups := conns / share
	across := max(lookups, minAcross)
	request := func(role string, purpose Purpose, conns int) Pool {
		return Pool{role, purpose, conns, requestStatement, requestLock, accountLock, requestWait}
	}
	return []Pool{
		request(RoleApp, Operations, conns-across-lookups),
		request(RoleSystem, Operations, across),
		request(RoleSystem, Lookups, lookups),
	}
}

// WorkerPools returns the pools of a worker, with conns connections in total, at least [MinConns]. The pools of jobs
// and deadlines share one part. They are four, because a connection has one role, and each has at least one connection.
func WorkerPools(conns int) []Pool {
	small := conns / share
	jobs := max(small, 4)
	long := jobs / 2
	return []Pool{
		{RoleApp, Jobs, long / 2, jobsStatement, 0, 0, workerWait},
		{RoleSystem, Jobs, long - long/2, jobsStatement, 0, 0, workerWait},
		{RoleApp, Deadlines, (jobs - long) / 2, deadlineStatement, deadlineLock, 0, workerWait},
		{RoleSystem, Deadlines, jobs - long - (jobs-long)/2, deadlineStatement, deadlineLock, 0, workerWait},
		{RoleSystem, Relay, small, relayStatement, relayLock, 0, workerWait},
		{RoleSystem, Dispatch, small, relayStatement, dispatchLock, 0, workerWait},
		{RoleSystem, Attempts, conns - 2*small - jobs, attemptsStatement, attemptsLock, 0, workerWait},
	}
}
