// Package migrations holds the schema's history.
package migrations

import "embed"

// Files are the migrations, as bun/migrate names them.
//
//go:embed *.sql
var Files embed.FS
