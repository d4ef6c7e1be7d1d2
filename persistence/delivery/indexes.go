package delivery

// alongIndexes restricts PostgreSQL to scans that follow the order of an index. A LIMIT ends such a
// scan early.
const alongIndexes = "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)"
