package app

// PageLimit limits a page of a list. The page ends with the row with which it has at least Bytes, so that it has at
// least one row.
type PageLimit struct{ Rows, Bytes int }
