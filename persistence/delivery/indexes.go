package delivery

// alongIndexes lets PostgreSQL walk along indexes only, which a limit can end at once.
const alongIndexes = "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)"
