package persistence

import (
	"context"
	"fmt"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// sealedColumn is a column of values that are sealed for the id of their row.
type sealedColumn struct{ table, column string }

// sealedColumns are all columns of sealed values. A test compares them with the schema.
var sealedColumns = [...]sealedColumn{
	{"subscriptions", "secret"}, {"subscriptions", "previous_secret"},
	{"subscriptions", "headers"}, {"mails", "secret"}, {"users", "otp_secret"},
}

// resealBatch is the number of values that one query of [DB.Reseal] reads.
const resealBatch = 500

// SealedValue is a value that cannot be opened.
type SealedValue struct {
	Table, Column, ID string
	Err               error
}

// Resealed is the result of [DB.Reseal].
type Resealed struct {
	Values int            // sealed again by this call
	Failed []SealedValue  // not changed
	Left   map[string]int // number of values by the ID of the key that seals them
}

// Reseal seals all values with the first key of the ring that are sealed with another key. It changes one value at a
// time, and only if the value has not changed since it was read. Therefore the service can run, and calls can be
// concurrent. A repeated call continues where an earlier one stopped.
func (db *DB) Reseal(ctx context.Context) (Resealed, error) {
	result := Resealed{Left: map[string]int{}}
	// A rotation can move a value to a column that has been read. Therefore a pass that changes nothing ends the loop.
	for changed := -1; changed != 0; {
		changed, result.Failed = 0, nil
		for _, c := range sealedColumns {
			n, concurrent, failed, err := db.resealColumn(ctx, c)
			result.Values += n
			if err != nil {
				return result, pg.Classify(err)
			}
			changed += n + concurrent
			result.Failed = append(result.Failed, failed...)
		}
	}
	for _, c := range sealedColumns {
		if err := db.countSealed(ctx, c, result.Left); err != nil {
			return result, pg.Classify(err)
		}
	}
	return result, nil
}

// resealColumn seals the values of a column again. concurrent is the number of values that changed meanwhile.
func (db *DB) resealColumn(ctx context.Context, c sealedColumn) (n, concurrent int, failed []SealedValue, err error) {
	update := fmt.Sprintf("UPDATE %[1]s SET %[2]s = $1 WHERE id = $2 AND %[2]s = $3", c.table, c.column)
	for last, more := "", true; more; {
		ids, values, err := db.sealedBatch(ctx, c, last)
		if err != nil {
			return n, concurrent, failed, err
		}
		for i, id := range ids {
			secret, err := db.sealer.Open(values[i], id)
			if err != nil {
				failed = append(failed, SealedValue{c.table, c.column, id, err})
				continue
			}
			result, err := db.System().DB.ExecContext(ctx, update, db.sealer.Seal(secret, id), id, values[i])
			if err != nil {
				return n, concurrent, failed, err
			}
			rows, err := result.RowsAffected()
			if err != nil {
				return n, concurrent, failed, err
			}
			n, concurrent = n+int(rows), concurrent+1-int(rows)
		}
		if more = len(ids) == resealBatch; more {
			last = ids[len(ids)-1]
		}
	}
	return n, concurrent, failed, nil
}

// sealedBatch reads the next values of a column, in the order of their ids, that the first key does not seal. Deleted
// subscriptions have an empty secret.
func (db *DB) sealedBatch(
	ctx context.Context, c sealedColumn, after string,
) (ids []string, values [][]byte, err error) {
	rows, err := db.System().DB.QueryContext(ctx, fmt.Sprintf(`SELECT id, %[2]s FROM %[1]s
		WHERE id > $1 AND octet_length(%[2]s) > 0 AND substring(%[2]s FROM 1 FOR %[3]d) <> $2
		ORDER BY id LIMIT %[4]d`, c.table, c.column, app.KeyIDLength, resealBatch),
		after, []byte(db.sealer.KeyIDs()[0]))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var value []byte
		if err := rows.Scan(&id, &value); err != nil {
			return nil, nil, err
		}
		ids, values = append(ids, id), append(values, value)
	}
	return ids, values, rows.Err()
}

// countSealed adds the number of values of a column by the ID of their key.
func (db *DB) countSealed(ctx context.Context, c sealedColumn, counts map[string]int) error {
	rows, err := db.System().DB.QueryContext(ctx, fmt.Sprintf(`
		SELECT encode(substring(%[2]s FROM 1 FOR %[3]d), 'escape'), count(*) FROM %[1]s
		WHERE octet_length(%[2]s) > 0 GROUP BY 1`, c.table, c.column, app.KeyIDLength))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return err
		}
		counts[id] += n
	}
	return rows.Err()
}
