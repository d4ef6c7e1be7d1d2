package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// settingsRow holds the columns of the table stores that are settings.
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
	OpeningHours          app.OpeningHours            `bun:"type:jsonb"`
	Closures              []app.Closure               `bun:"type:jsonb"`
	PrepMinutes           map[app.FulfillmentType]int `bun:"type:jsonb"`
	OrderLeadMinutes      int
	OrderMaxDays          int
	RemindAfterMinutes    int
	CancelAfterMinutes    int
	RequireOTP            bool `bun:"require_otp"`
	LowerTotals           app.LowerTotals
	StaffMay              []app.StaffRight       `bun:",array"`
	LoyaltyMinorPerPoint  map[app.Currency]int64 `bun:"type:jsonb"`
	LoyaltyMinPoints      int64
	SettingsVersion       int64
}

func (r settingsRow) settings() app.Settings {
	return app.Settings{
		Timezone: r.Timezone, BusinessDayCutoffHour: r.BusinessDayCutoffHour, TaxRatePPM: r.TaxRatePPM,
		TaxIncluded: r.TaxIncluded, TaxDeliveryFee: r.TaxDeliveryFee, DeliveryFees: r.DeliveryFees, Seats: r.Seats,
		ReservationMinutes: r.ReservationMinutes, BookingLeadMinutes: r.BookingLeadMinutes,
		BookingMaxDays: r.BookingMaxDays, OpeningHours: r.OpeningHours, Closures: r.Closures,
		PrepMinutes: r.PrepMinutes, OrderLeadMinutes: r.OrderLeadMinutes, OrderMaxDays: r.OrderMaxDays,
		Acceptance: app.Acceptance{
			RemindAfterMinutes: r.RemindAfterMinutes, CancelAfterMinutes: r.CancelAfterMinutes,
		},
		RequireOTP: r.RequireOTP, LowerTotals: r.LowerTotals, StaffMay: r.StaffMay,
		Loyalty: app.Loyalty{MinorPerPoint: r.LoyaltyMinorPerPoint, MinPoints: r.LoyaltyMinPoints},
		Version: r.SettingsVersion,
	}
}

func rowOfSettings(s app.Settings) settingsRow {
	return settingsRow{
		Timezone: s.Timezone, BusinessDayCutoffHour: s.BusinessDayCutoffHour, TaxRatePPM: s.TaxRatePPM,
		TaxIncluded: s.TaxIncluded, TaxDeliveryFee: s.TaxDeliveryFee, DeliveryFees: s.DeliveryFees, Seats: s.Seats,
		ReservationMinutes: s.ReservationMinutes, BookingLeadMinutes: s.BookingLeadMinutes,
		BookingMaxDays: s.BookingMaxDays, OpeningHours: s.OpeningHours, Closures: s.Closures,
		PrepMinutes: s.PrepMinutes, OrderLeadMinutes: s.OrderLeadMinutes, OrderMaxDays: s.OrderMaxDays,
		RemindAfterMinutes: s.Acceptance.RemindAfterMinutes, CancelAfterMinutes: s.Acceptance.CancelAfterMinutes,
		RequireOTP: s.RequireOTP, LowerTotals: s.LowerTotals, StaffMay: s.StaffMay,
		LoyaltyMinorPerPoint: s.Loyalty.MinorPerPoint, LoyaltyMinPoints: s.Loyalty.MinPoints,
		SettingsVersion: s.Version,
	}
}

// Settings returns a store's settings, NOT_FOUND if there is no such store.
func (db *DB) Settings(ctx context.Context, store app.StoreID) (app.Settings, error) {
	var settings app.Settings
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		settings, err = SettingsOf(ctx, tx, store)
		return err
	})
	return settings, err
}

// SettingsOf is [DB.Settings] in a transaction.
func SettingsOf(ctx context.Context, tx bun.Tx, store app.StoreID) (app.Settings, error) {
	var row settingsRow
	err := tx.NewSelect().Model(&row).Where("s.id = ?", store).Scan(ctx)
	return row.settings(), err
}

// ZonedSettingsOf is [SettingsOf], with the location of the time zone.
func ZonedSettingsOf(
	ctx context.Context, tx bun.Tx, store app.StoreID,
) (settings app.Settings, zone *time.Location, err error) {
	if settings, err = SettingsOf(ctx, tx, store); err == nil {
		zone, err = zoneOf(settings.Timezone)
	}
	return settings, zone, err
}

// LockSettings is [SettingsOf] with a lock of the store. The lock serialises changes of settings and the
// assignment of seats.
func LockSettings(ctx context.Context, tx bun.Tx, store app.StoreID) (app.Settings, error) {
	var row settingsRow
	err := tx.NewSelect().Model(&row).Where("s.id = ?", store).For("NO KEY UPDATE").Scan(ctx)
	return row.settings(), err
}

// ChangeSettings applies change to a store's settings and records the differences in the audit trail.
// It writes nothing if change changes nothing. It returns NOT_FOUND, VERSION_MISMATCH (version 0
// matches every version) and the errors of change.
func (db *DB) ChangeSettings(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, version int64,
	change func(*app.Settings) error,
) (app.Settings, error) {
	var changed app.Settings
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		before, err := LockSettings(ctx, tx, store)
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
