package delivery

// alongIndexes restricts PostgreSQL to scans in the order of an index, which a LIMIT ends early.
const alongIndexes = "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)"
