package api

// duringTransaction sends a request after a transaction has run a statement. The transaction is committed once the
// request waits for one of its locks, or has ended.
func (w *world) duringTransaction(request func() *response, statement string, args ...any) *response {
	w.Helper()
	tx, err := w.db.System().DB.BeginTx(w.Context(), nil)
	w.must(err)
	defer tx.Rollback()
	_, err = tx.ExecContext(w.Context(), statement, args...)
	w.must(err)
	ended := make(chan *response, 1)
	go func() { ended <- request() }()
	w.until("request that waits or has ended", func() bool {
		waiting := 0
		w.must(tx.QueryRowContext(w.Context(),
			`SELECT count(*) FROM pg_locks
				WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`).Scan(&waiting))
		return waiting > 0 || len(ended) > 0
	})
	w.must(tx.Commit())
	return <-ended
}
