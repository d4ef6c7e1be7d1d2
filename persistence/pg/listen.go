package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Listen listens to a channel on a separate connection with the given role, after it has run statements. It calls began
// once it receives notifications, then received with the payload of each one. It returns when the connection breaks or
// ctx is done.
func (db *DB) Listen(
	ctx context.Context, role, channel string, began func(), received func(payload string), statements ...string,
) error {
	config, err := pgx.ParseConfig(db.config.url(role))
	if err != nil {
		return err
	}
	config.RuntimeParams["application_name"] = channel
	as(role, config, "")
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return Classify(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, statement := range append(statements, "LISTEN "+channel) {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	for began(); ; {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		received(notification.Payload)
	}
}
