// Package migrations embeds the migrations of the database schema.
package migrations

import "embed"

// Files contains the migrations, named as bun/migrate expects.
//
//go:embed *.sql
var Files embed.FS
