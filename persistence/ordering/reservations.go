package ordering

import (
	"context"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// reservationRow is a row of the table reservations.
type reservationRow struct {
	bun.BaseModel `bun:"table:reservations,alias:r"`

	ID                 app.ReservationID `bun:",pk"`
	StoreID            app.StoreID
	Status             app.ReservationStatus
	CustomerID         *app.CustomerID
	CustomerName       string
	CustomerEmail      string
	CustomerPhone      string
	PartySize          int
	StartAt            time.Time
	EndAt              time.Time
	Notes              string
	TableLabel         string
	ConfirmedRealm     *app.Realm
	ConfirmedBy        *string
	ConfirmedAt        *time.Time
	CancellationReason string
	ExternalID         string            `bun:"external_id"`
	Metadata           map[string]string `bun:"type:jsonb"`
	Version            int64
	CreatedAt          time.Time
	UpdatedAt          time.Time
}

func (r reservationRow) reservation(timezone string) app.Reservation {
	reservation := app.Reservation{
		ID: r.ID, StoreID: r.StoreID, Status: r.Status,
		Customer: app.ReservationCustomer{
			ID: r.CustomerID, Name: r.CustomerName, Email: r.CustomerEmail, Phone: r.CustomerPhone,
		},
		PartySize: r.PartySize, StartAt: app.At(r.StartAt), EndAt: app.At(r.EndAt),
		Minutes: int(r.EndAt.Sub(r.StartAt).Minutes()), Timezone: timezone, Notes: r.Notes, TableLabel: r.TableLabel,
		ConfirmedAt: pg.TimeOrNil(r.ConfirmedAt), ExternalID: r.ExternalID, Metadata: r.Metadata, Version: r.Version,
		CreatedAt: app.At(r.CreatedAt),
		UpdatedAt: app.At(r.UpdatedAt),
	}
	if r.ConfirmedBy != nil {
		reservation.ConfirmedBy = &app.ReservationActor{Realm: *r.ConfirmedRealm, ID: *r.ConfirmedBy}
	}
	if r.Status == app.ReservationCancelled {
		reservation.CancellationReason = &r.CancellationReason
	}
	return reservation
}

// Reserve creates a reservation and emits reservation.created. Concurrent reservations never occupy
// more seats than the store has. It returns VALIDATION_FAILED for an unknown customer,
// OUTSIDE_BOOKING_WINDOW, STORE_CLOSED, SLOT_FULL, CONFLICT if another reservation has the externalId, and
// the errors of [pg.RunOnce].
func (db *DB) Reserve(
	ctx context.Context, now time.Time, store app.StoreID, in app.NewReservation, once *pg.Once,
) (app.Reservation, error) {
	now = app.At(now).Time
	made, err := pg.CreateOnce(ctx, db.pg, store, once, now, func(
		ctx context.Context, tx bun.Tx,
	) (app.Reservation, error) {
		settings, err := identity.LockSettings(ctx, tx, store)
		if err != nil {
			return app.Reservation{}, err
		}
		customer, err := reservingCustomer(ctx, tx, store, in)
		if err != nil {
			return app.Reservation{}, err
		}
		if in.Minutes == 0 {
			in.Minutes = settings.ReservationMinutes
		}
		row := reservationRow{
			ID: app.NewID[app.ReservationID](now), StoreID: store, Status: app.ReservationPending,
			CustomerID: customer.ID, CustomerName: customer.Name, CustomerEmail: customer.Email,
			CustomerPhone: customer.Phone, PartySize: in.PartySize, StartAt: in.StartAt.Time,
			EndAt: in.StartAt.Add(time.Duration(in.Minutes) * time.Minute), Notes: in.Notes, TableLabel: in.TableLabel,
			ExternalID: in.ExternalID, Metadata: pg.Metadata(in.Metadata), Version: 1, CreatedAt: now, UpdatedAt: now,
		}
		booking, err := settings.Booking(now, in.By.Realm)
		if err != nil {
			return app.Reservation{}, err
		}
		if err := booking.CheckStart(row.StartAt); err != nil {
			return app.Reservation{}, err
		}
		if err := booking.CheckOpen(row.StartAt, row.EndAt); err != nil {
			return app.Reservation{}, err
		}
		if err := checkSeats(ctx, tx, row, settings.Seats); err != nil {
			return app.Reservation{}, err
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return app.Reservation{}, err
		}
		reservation := row.reservation(settings.Timezone)
		return reservation, delivery.Emit(ctx, tx, now, store, app.EventReservationCreated, reservation)
	})
	return made, db.pg.ExternalIDTaken(ctx, store, "reservations", in.ExternalID, err)
}

// reservingCustomer returns the customer of a reservation: a customer of the store, or a guest. A guest
// is stored only with the reservation. It locks the customer, so that an erasure finds the reservation. To avoid
// deadlocks, a transaction locks in this order: the store, the reservation, the customer.
func reservingCustomer(
	ctx context.Context, tx bun.Tx, store app.StoreID, in app.NewReservation,
) (app.ReservationCustomer, error) {
	if in.CustomerID == "" {
		return in.Guest, nil
	}
	c := app.ReservationCustomer{ID: &in.CustomerID}
	err := tx.NewRaw(`SELECT trim(first_name || ' ' || last_name), email, phone
		FROM customers WHERE store_id = ? AND id = ? AND erased_at IS NULL FOR SHARE`, store, in.CustomerID).
		Scan(ctx, &c.Name, &c.Email, &c.Phone)
	if app.CodeOf(pg.Classify(err)) == app.CodeNotFound {
		return c, errNotACustomer()
	}
	return c, err
}

// checkSeats returns SLOT_FULL if too few seats are free for a reservation. The caller must hold the
// store's lock, see [identity.LockSettings].
func checkSeats(ctx context.Context, tx bun.Tx, row reservationRow, seats int) error {
	parties, err := seatedParties(ctx, tx, row)
	if err != nil {
		return err
	}
	if free := seats - app.PeakCovers(parties); row.PartySize > free {
		return app.Errorf(app.CodeSlotFull, "only %d of %d seats are free at that time", max(free, 0), seats)
	}
	return nil
}

// seatedDuring selects the parties of the other reservations that occupy seats during reservation r.
func seatedDuring(tx bun.Tx, r reservationRow) *bun.SelectQuery {
	return tx.NewSelect().TableExpr("reservations AS r").
		ColumnExpr(`r.start_at AS "start", r.end_at AS "end", r.party_size`).
		Where("r.store_id = ? AND r.id <> ? AND r.status IN ('PENDING', 'CONFIRMED')", r.StoreID, r.ID).
		Where(overlapping, r.StartAt, app.MaxReservationMinutes, r.EndAt, r.StartAt)
}

// seatedParties returns the parties that occupy seats during reservation r.
func seatedParties(ctx context.Context, tx bun.Tx, r reservationRow) ([]app.Seated, error) {
	var parties []app.Seated
	return parties, seatedDuring(tx, r).Scan(ctx, &parties)
}

// overlapping is the condition that reservation r overlaps a period. The index on start_at limits the
// search to reservations that begin at most the longest duration before the period.
const overlapping = "r.start_at > ?::timestamptz - make_interval(mins => ?) AND r.start_at < ? AND r.end_at > ?"

// Reservation returns a reservation of a store, NOT_FOUND if there is no such reservation.
func (db *DB) Reservation(ctx context.Context, store app.StoreID, id app.ReservationID) (app.Reservation, error) {
	var reservation app.Reservation
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		settings, err := identity.SettingsOf(ctx, tx, store)
		if err != nil {
			return err
		}
		var row reservationRow
		err = tx.NewSelect().Model(&row).Where("r.store_id = ? AND r.id = ?", store, id).Scan(ctx)
		reservation = row.reservation(settings.Timezone)
		return err
	})
	return reservation, err
}

// Reservations lists a store's reservations ordered by their start. more reports whether further ones follow.
func (db *DB) Reservations(
	ctx context.Context, store app.StoreID, filter app.ReservationFilter, after pg.Cursor, limit app.PageLimit,
) (reservations []app.Reservation, more bool, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		settings, zone, err := identity.ZonedSettingsOf(ctx, tx, store)
		if err != nil {
			return err
		}
		q, err := listReservations(tx, store, zone, filter, after, limit.Rows+1)
		if err != nil {
			return err
		}
		var rows []reservationRow
		rows, more, err = pg.Page(ctx, q, limit, func(r reservationRow) app.ReservationID { return r.ID })
		if err != nil {
			return err
		}
		reservations = make([]app.Reservation, len(rows))
		for i, row := range rows {
			reservations[i] = row.reservation(settings.Timezone)
		}
		return nil
	})
	return reservations, more, err
}

func listReservations(
	tx bun.Tx, store app.StoreID, zone *time.Location, filter app.ReservationFilter, after pg.Cursor, limit int,
) (*bun.SelectQuery, error) {
	q := tx.NewSelect().Model((*reservationRow)(nil)).Where("r.store_id = ?", store).OrderExpr("r.start_at, r.id").
		Limit(int64(limit))
	if after.ID != "" {
		q.Where("(r.start_at, r.id) > (?, ?)", after.At, after.ID)
	}
	if len(filter.Statuses) > 0 {
		q.Where("r.status IN (?)", bun.List(filter.Statuses))
	}
	if filter.From != nil {
		q.Where("r.start_at >= ?", filter.From.Time)
	}
	if filter.To != nil {
		q.Where("r.start_at < ?", filter.To.Time)
	}
	if filter.UpdatedSince != nil {
		q.Where("r.updated_at >= ?", filter.UpdatedSince.Time)
	}
	if filter.ExternalID != "" {
		q.Where("r.external_id = ?", filter.ExternalID)
	}
	if filter.Date != "" {
		from, to, err := app.DayIn(zone, filter.Date)
		if err != nil {
			return nil, err
		}
		q.Where("r.start_at >= ? AND r.start_at < ?", from, to)
	}
	if filter.Overlaps != "" {
		from, to, err := app.DayIn(zone, filter.Overlaps)
		if err != nil {
			return nil, err
		}
		q.Where(overlapping, from, app.MaxReservationMinutes, to, from)
	}
	if filter.CustomerID != "" {
		q.Where("r.customer_id = ?", filter.CustomerID)
	}
	if filter.Query != "" {
		q.WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return pg.SearchPeople(q, strings.TrimSpace(filter.Query))
		})
	}
	return q, nil
}

// lockReservation locks a reservation. It returns NOT_FOUND or VERSION_MISMATCH; version 0 matches every version.
func lockReservation(
	ctx context.Context, tx bun.Tx, store app.StoreID, id app.ReservationID, version int64,
) (reservationRow, error) {
	var row reservationRow
	err := tx.NewSelect().Model(&row).Where("r.store_id = ? AND r.id = ?", store, id).For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return row, err
	}
	return row, pg.CheckVersion(version, row.Version)
}

// ChangeReservationStatus changes the status of a reservation and emits reservation.confirmed or
// reservation.cancelled if the new status has an event. It writes nothing if the reservation already
// has the status. It returns NOT_FOUND, VERSION_MISMATCH (version 0 matches every version) or
// INVALID_TRANSITION.
func (db *DB) ChangeReservationStatus(
	ctx context.Context, now time.Time, store app.StoreID, id app.ReservationID, version int64,
	change app.ReservationStatusChange,
) (app.Reservation, error) {
	now = app.At(now).Time
	var moved app.Reservation
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		settings, err := identity.SettingsOf(ctx, tx, store)
		if err != nil {
			return err
		}
		row, err := lockReservation(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		moved, err = row.reservation(settings.Timezone).Moved(change, app.At(now))
		if err != nil || moved.Status == row.Status {
			return err
		}
		row.Status, row.Version, row.UpdatedAt = moved.Status, moved.Version, moved.UpdatedAt.Time
		switch moved.Status {
		case app.ReservationConfirmed:
			row.ConfirmedRealm, row.ConfirmedBy, row.ConfirmedAt = &moved.ConfirmedBy.Realm, &moved.ConfirmedBy.ID, &now
		case app.ReservationCancelled:
			row.CancellationReason = *moved.CancellationReason
		}
		if _, err := tx.NewUpdate().Model(&row).
			Column("status", "confirmed_realm", "confirmed_by", "confirmed_at", "cancellation_reason", "version",
				"updated_at").
			Where("r.store_id = ? AND r.id = ?", store, id).Exec(ctx); err != nil {
			return err
		}
		return emitReservationStatus(ctx, tx, now, moved)
	})
	return moved, err
}

func emitReservationStatus(ctx context.Context, tx bun.Tx, now time.Time, r app.Reservation) error {
	switch r.Status {
	case app.ReservationConfirmed:
		return delivery.Emit(ctx, tx, now, r.StoreID, app.EventReservationConfirmed, r)
	case app.ReservationCancelled:
		return delivery.Emit(ctx, tx, now, r.StoreID, app.EventReservationCancelled, r)
	}
	return nil
}
