package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// settingsRow is what of a store its settings are.
type settingsRow struct {
	bun.BaseModel `bun:"table:stores,alias:s"`

	Timezone              string
	BusinessDayCutoffHour int
	TaxRatePPM            int64 `bun:"tax_rate_ppm"`
	TaxIncluded           bool
	TaxDeliveryFee        bool
	DeliveryFees          map[app.Currency]int64 `bun:"type:jsonb"`
	Seats                 int
	ReservationMinutes    int
	BookingLeadMinutes    int
	BookingMaxDays        int
	SettingsVersion       int64
}

func (r settingsRow) settings() app.Settings {
	return app.Settings{
		Timezone: r.Timezone, BusinessDayCutoffHour: r.BusinessDayCutoffHour, TaxRatePPM: r.TaxRatePPM, TaxIncluded: r.TaxIncluded,
		TaxDeliveryFee: r.TaxDeliveryFee, DeliveryFees: r.DeliveryFees, Seats: r.Seats, ReservationMinutes: r.ReservationMinutes,
		BookingLeadMinutes: r.BookingLeadMinutes, BookingMaxDays: r.BookingMaxDays, Version: r.SettingsVersion,
	}
}

func rowOfSettings(s app.Settings) settingsRow {
	return settingsRow{
		Timezone: s.Timezone, BusinessDayCutoffHour: s.BusinessDayCutoffHour, TaxRatePPM: s.TaxRatePPM, TaxIncluded: s.TaxIncluded,
		TaxDeliveryFee: s.TaxDeliveryFee, DeliveryFees: s.DeliveryFees, Seats: s.Seats, ReservationMinutes: s.ReservationMinutes,
		BookingLeadMinutes: s.BookingLeadMinutes, BookingMaxDays: s.BookingMaxDays, SettingsVersion: s.Version,
	}
}

// Settings returns a store's settings, NOT_FOUND if there is no such store.
func (db *DB) Settings(ctx context.Context, store app.StoreID) (app.Settings, error) {
	var settings app.Settings
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		settings, err = settingsOf(ctx, tx, store)
		return err
	})
	return settings, err
}

func settingsOf(ctx context.Context, tx bun.Tx, store app.StoreID) (app.Settings, error) {
	var row settingsRow
	err := tx.NewSelect().Model(&row).Where("s.id = ?", store).Scan(ctx)
	return row.settings(), err
}

// lockSettings is settingsOf with the store's lock: settings change, and seats are given
// away, one after the other.
func lockSettings(ctx context.Context, tx bun.Tx, store app.StoreID) (app.Settings, error) {
	var row settingsRow
	err := tx.NewSelect().Model(&row).Where("s.id = ?", store).For("NO KEY UPDATE").Scan(ctx)
	return row.settings(), err
}

// ChangeSettings changes a store's settings as change does, with a line in the audit trail.
// Nothing changed changes nothing. It returns NOT_FOUND, VERSION_MISMATCH (version 0 is any)
// and what change returns.
func (db *DB) ChangeSettings(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, version int64, change func(*app.Settings) error) (app.Settings, error) {
	var changed app.Settings
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		before, err := lockSettings(ctx, tx, store)
		if err != nil {
			return err
		}
		if err := pg.CheckVersion(version, before.Version); err != nil {
			return err
		}
		changed = before
		if err := change(&changed); err != nil {
			return err
		}
		details := map[string]any{}
		for member, change := range before.Changes(changed) {
			details[member] = change
		}
		if len(details) == 0 {
			return nil
		}
		changed.Version = before.Version + 1
		row := rowOfSettings(changed)
		if _, err := tx.NewUpdate().Model(&row).Where("s.id = ?", store).Exec(ctx); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditSettingsChanged, string(store), details)
	})
	return changed, err
}
