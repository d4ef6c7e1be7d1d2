package api

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-playground/validator/v10"

	"github.com/comanda-dev/comanda/app"
)

// enums lists the values of each string type that is an enumeration, for validation and for the OpenAPI
// document. Other string types accept any string.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[app.EventType]():      append(texts(app.EventTypes[:]), string(app.EventTestPing)),
	reflect.TypeFor[app.EventOrder]():     texts([]app.EventOrder{app.NewestEvents, app.OldestEvents}),
	reflect.TypeFor[app.BodyEncoding]():   texts([]app.BodyEncoding{app.BodyText, app.BodyBase64}),
	reflect.TypeFor[app.Granularity]():    texts([]app.Granularity{app.ByHour, app.ByDay}),
	reflect.TypeFor[app.Ordering]():       texts(app.Orderings[:]),
	reflect.TypeFor[app.DeliveryStatus](): texts(app.DeliveryStatuses[:]),
	reflect.TypeFor[endedStatus]():        texts(app.ReplayableStatuses),
	reflect.TypeFor[app.ReplayedStatus](): texts(app.ReplayedStatuses[:]),
	reflect.TypeFor[app.ReplayStatus]():   texts(app.ReplayStatuses[:]),
	reflect.TypeFor[app.AttemptStatus](): texts([]app.AttemptStatus{
		app.AttemptDelivered, app.AttemptFailed, app.AttemptRetrying, app.AttemptDeadLetter,
	}),
	reflect.TypeFor[app.Provider](): texts(app.Providers[:]),
	reflect.TypeFor[app.Role]():     texts(app.Roles[:]),
	reflect.TypeFor[app.Scope]():    texts(app.Scopes[:]),
	reflect.TypeFor[app.Plan](): texts([]app.Plan{
		app.PlanStarter, app.PlanGrow, app.PlanProfessional, app.PlanEnterprise,
	}),
	reflect.TypeFor[app.PlanManager](): texts(app.PlanManagers[:]),
	reflect.TypeFor[app.AuditAction](): texts(app.AuditActions[:]),
	reflect.TypeFor[app.Realm]():       texts(app.Realms[:]),
	reflect.TypeFor[app.KeyMode]():     texts([]app.KeyMode{app.KeyLive, app.KeyTest}),
	reflect.TypeFor[app.OrderStatus](): texts([]app.OrderStatus{
		app.OrderReceived, app.OrderConfirmed, app.OrderPreparing, app.OrderReady, app.OrderOutForDelivery,
		app.OrderCompleted, app.OrderCancelled,
	}),
	reflect.TypeFor[app.FulfillmentType](): texts([]app.FulfillmentType{
		app.FulfillmentDelivery, app.FulfillmentPickup, app.FulfillmentDineIn,
	}),
	reflect.TypeFor[app.OrderSource](): texts([]app.OrderSource{
		app.SourceWeb, app.SourceMobile, app.SourcePOS, app.SourcePhone, app.SourceAPI,
	}),
	reflect.TypeFor[app.ProductSort](): texts([]app.ProductSort{app.ProductsNewest, app.ProductsByPosition}),
	reflect.TypeFor[app.Interval]():    texts([]app.Interval{app.Hourly, app.Daily, app.Weekly, app.Monthly}),
	reflect.TypeFor[app.ReservationStatus](): texts([]app.ReservationStatus{
		app.ReservationPending, app.ReservationConfirmed, app.ReservationCancelled, app.ReservationCompleted,
		app.ReservationNoShow,
	}),
	reflect.TypeFor[app.CustomerKind]():  texts([]app.CustomerKind{app.CustomerRegistered, app.CustomerGuest}),
	reflect.TypeFor[app.PaymentResult](): texts([]app.PaymentResult{app.PaymentSucceeded, app.PaymentFailed}),
	reflect.TypeFor[app.LoyaltyKind]():   texts(app.LoyaltyKinds[:]),
	reflect.TypeFor[app.PaymentStatus](): texts([]app.PaymentStatus{
		app.PaymentUnpaid, app.PaymentPartiallyPaid, app.PaymentPaid, app.PaymentPartiallyRefunded, app.PaymentRefunded,
	}),
	reflect.TypeFor[app.ItemAction]():      texts(app.ItemActions[:]),
	reflect.TypeFor[app.OrderChangeType](): texts(app.OrderChangeTypes[:]),
	reflect.TypeFor[app.LowerTotals]():     texts([]app.LowerTotals{app.StaffLowerTotals, app.ManagerLowersTotal}),
	reflect.TypeFor[app.StaffRight]():      texts(app.StaffRights[:]),
	reflect.TypeFor[app.ImportAction]():    texts(app.ImportActions[:]),
	reflect.TypeFor[app.RefundType]():      texts([]app.RefundType{app.RefundFull, app.RefundPartial}),
}

// subscribable lists the elements of the events of a webhook.
var subscribable = append([]string{string(app.AllEvents)}, texts(app.EventTypes[:])...)

func texts[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// phonePattern matches E.164 with the leading +.
const phonePattern = `^\+[1-9][0-9]{6,14}$`

// dialledPattern matches a phone number as people write it.
const dialledPattern = `^\+?[0-9(][0-9 ()/.-]*$`

var (
	phone   = regexp.MustCompile(phonePattern)
	dialled = regexp.MustCompile(dialledPattern)
)

// providerPattern matches the name of a payment provider, last4Pattern the last digits of a card number.
const (
	providerPattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$`
	last4Pattern    = `^[0-9]{4}$`
)

var (
	paymentProvider = regexp.MustCompile(providerPattern)
	last4           = regexp.MustCompile(last4Pattern)
)

// localePattern matches a BCP 47 tag of a language with optional script and region.
const localePattern = `^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$`

var locale = regexp.MustCompile(localePattern)

// clientIDPattern matches a client id at an identity provider.
const clientIDPattern = `^[!-~]{1,255}$`

var clientID = regexp.MustCompile(clientIDPattern)

// oneLinePattern matches a text that is not blank and has no line breaks and control characters.
const oneLinePattern = `^[^\p{Cc}\p{Zl}\p{Zp}]*[^\p{Cc}\p{Z}][^\p{Cc}\p{Zl}\p{Zp}]*$`

var oneLine = regexp.MustCompile(oneLinePattern)

// viewCodePattern matches the code of a store view.
const viewCodePattern = `^[a-z0-9]+(_[a-z0-9]+)*$`

var viewCode = regexp.MustCompile(viewCodePattern)

// timezonePattern matches IANA names of time zones. It excludes the other files in a system's time zone
// directory, such as localtime and posix/UTC.
const timezonePattern = `^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`

var timezone = regexp.MustCompile(timezonePattern)

// clockPattern matches a time of the wall clock, clockEndPattern also the end of a day.
const (
	clockPattern    = `^([01][0-9]|2[0-3]):[0-5][0-9]$`
	clockEndPattern = `^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`
)

var (
	clock    = regexp.MustCompile(clockPattern)
	clockEnd = regexp.MustCompile(clockEndPattern)
)

// newValidator returns the validator of the validate tags of request types. Additional tags besides memberLimits:
//
//	each          a list of structs, whose elements are validated one by one, see [binder.validate]
//	notblank      not only white space
//	oneline       a text that is not blank, without line breaks and control characters
//	bytes=n       at most n bytes
//	uncommon      not a common password
//	enum          one of the values in enums
//	subscribable  an event type that a subscription can select, or * for all of them
//	listed        the type of an event in a list
//	id            has the form of an id
//	phone         E.164
//	dialled       E.164, or a phone number as it is dialled in the store's country
//	currency      an ISO 4217 code
//	viewcode      a store view's code
//	locale        a BCP 47 tag of language, script and region, in their usual case
//	date          a day of the calendar
//	timezone      a time zone's IANA name
//	provider      a payment provider's name
//	clientid      a client id at an identity provider
//	clock         a time of the wall clock
//	clockend      a time of the wall clock, or 24:00
//	last4         the last four digits of a card's number
var newValidator = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(field reflect.StructField) string {
		for _, tag := range []string{"json", "query", "path", "header"} {
			if name, _, _ := strings.Cut(field.Tag.Get(tag), ","); name != "" {
				return name
			}
		}
		if field.Anonymous {
			return embedded
		}
		return ""
	})
	for name, rules := range memberLimits {
		v.RegisterAlias(name, rules)
	}
	v.RegisterCustomTypeFunc(func(v reflect.Value) any { return v.Interface().(app.Secret).Reveal() }, app.Secret{})
	for tag, check := range map[string]func(text, param string, t reflect.Type) bool{
		"notblank": func(text, _ string, _ reflect.Type) bool { return strings.TrimSpace(text) != "" },
		"oneline":  func(text, _ string, _ reflect.Type) bool { return oneLine.MatchString(text) },
		"bytes": func(text, most string, _ reflect.Type) bool {
			n, _ := strconv.Atoi(most)
			return len(text) <= n
		},
		"uncommon":     func(text, _ string, _ reflect.Type) bool { return !app.IsCommonPassword(app.NewSecret(text)) },
		"enum":         func(text, _ string, t reflect.Type) bool { return slices.Contains(enums[t], text) },
		"subscribable": func(text, _ string, _ reflect.Type) bool { return slices.Contains(subscribable, text) },
		"listed": func(text, _ string, _ reflect.Type) bool {
			return slices.Contains(app.EventTypes[:], app.EventType(text))
		},
		"id":      func(text, _ string, _ reflect.Type) bool { return app.IsID(text) },
		"phone":   func(text, _ string, _ reflect.Type) bool { return phone.MatchString(text) },
		"dialled": func(text, _ string, _ reflect.Type) bool { return dialled.MatchString(text) },
		"currency": func(text, _ string, _ reflect.Type) bool {
			_, ok := app.Currency(text).Exponent()
			return ok
		},
		"provider": func(text, _ string, _ reflect.Type) bool { return paymentProvider.MatchString(text) },
		"last4":    func(text, _ string, _ reflect.Type) bool { return last4.MatchString(text) },
		"clientid": func(text, _ string, _ reflect.Type) bool { return clientID.MatchString(text) },
		"clock":    func(text, _ string, _ reflect.Type) bool { return clock.MatchString(text) },
		"clockend": func(text, _ string, _ reflect.Type) bool { return clockEnd.MatchString(text) },
		"viewcode": func(text, _ string, _ reflect.Type) bool { return viewCode.MatchString(text) },
		"locale":   func(text, _ string, _ reflect.Type) bool { return locale.MatchString(text) },
		"date": func(text, _ string, _ reflect.Type) bool {
			day, err := time.Parse(time.DateOnly, text)
			return err == nil && day.Year() > 0
		},
		"timezone": func(text, _ string, _ reflect.Type) bool {
			_, err := time.LoadLocation(text)
			return err == nil && text != "Local" && timezone.MatchString(text)
		},
	} {
		must(v.RegisterValidation(tag, func(f validator.FieldLevel) bool {
			return check(f.Field().String(), f.Param(), f.Field().Type())
		}))
	}
	must(v.RegisterValidation("each", func(validator.FieldLevel) bool { return true }))
	return v
})

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// messages are the details of members that fail a tag. %s is the parameter of the tag.
var messages = map[string]string{
	"required":         "is required",
	"required number":  "is required and must not be 0",
	"notblank":         "must not be blank",
	"oneline":          "must be one line without control characters",
	"bytes":            "must have at most %s bytes",
	"uncommon":         "is a common password; choose another one",
	"subscribable":     "must be one of " + strings.Join(subscribable, ", "),
	"listed":           "must be one of " + strings.Join(texts(app.EventTypes[:]), ", "),
	"id":               "is not an id",
	"phone":            "must be a phone number in international format with a leading +",
	"dialled":          "must be a phone number; encode a leading + as %2B",
	"email":            "must be an email address",
	"currency":         "must be an ISO 4217 currency code (three upper-case letters)",
	"locale":           "must be a BCP 47 tag of language, script and region: de, de-DE, zh-Hant-TW",
	"viewcode":         "must be lower-case letters and digits, separated by underscores: de_de",
	"provider":         "must be 1 to 50 letters, digits, dots, underscores and hyphens",
	"clientid":         "must have 1 to 255 visible ASCII characters",
	"clock":            "must be a time of day: 09:30",
	"clockend":         "must be a time of day: 22:00, or 24:00",
	"last4":            "must be four digits",
	"date":             "must be a date: 2026-03-14",
	"timezone":         "must be the IANA name of a time zone: Europe/Berlin, UTC",
	"https_url":        "must be an https URL",
	"iso3166_1_alpha2": "must be a country code of ISO 3166-1 alpha-2: DE",
	"unique":           "must not contain duplicates",
	"min string":       "must have at least %s characters",
	"max string":       "must have at most %s characters",
	"min slice":        "must have at least %s elements",
	"max slice":        "must have at most %s elements",
	"max object":       "must have at most %s members",
	"min number":       "must be at least %s",
	"max number":       "must be at most %s",
}

// memberKeys matches the keys of maps in the paths of the validator: [EUR].
var memberKeys = regexp.MustCompile(`\[([^\]]*[^\]0-9][^\]]*)\]`)

// embedded is the name of embedded structs in the paths of the validator. The paths of faults omit them.
const embedded = "\x00"

// validate checks the tags of a bound struct, until the error response has all the details that it can have. The
// validator itself would collect the faults of all elements of a request first.
func (b *binder) validate(in any) { b.validateStruct(reflect.ValueOf(in).Elem(), "") }

func (b *binder) validateStruct(v reflect.Value, path string) {
	err := newValidator().Struct(v.Addr().Interface())
	found, ok := errors.AsType[validator.ValidationErrors](err)
	if err != nil && !ok {
		panic(err) // v is not a struct
	}
	for _, f := range found {
		if b.full() {
			return
		}
		_, at, _ := strings.Cut(strings.ReplaceAll(f.Namespace(), embedded+".", ""), ".")
		b.fault(joined(path, memberKeys.ReplaceAllString(at, ".$1")), messageOf(f.ActualTag(), f.Param(), f.Type()))
	}
	b.validateLists(v, path)
}

// validateLists validates the elements of the lists of structs in a value whose own rules were checked.
func (b *binder) validateLists(v reflect.Value, path string) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice:
		if kindOf(v.Type().Elem()) != anObject {
			return
		}
		for i := 0; i < v.Len() && !b.full() && !b.faulty(path); i++ {
			b.validateStruct(v.Index(i), path+"["+strconv.Itoa(i)+"]")
		}
	case reflect.Map:
		if kindOf(v.Type().Elem()) != anObject || b.faulty(path) {
			return
		}
		for _, key := range v.MapKeys() {
			b.validateLists(v.MapIndex(key), member(path, key.String()))
		}
	case reflect.Struct:
		if kindOf(v.Type()) != anObject {
			return
		}
		fields := fieldsOf(v.Type(), "json")
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if field := v.FieldByIndex(fields[name]); holdsLists(field.Type()) {
				b.validateLists(field, member(path, name))
			}
		}
	}
}

// holdsLists reports whether a value of a type can be or have a list of structs.
func holdsLists(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Struct:
		return t != reflect.TypeFor[app.Secret]()
	}
	return false
}

// joined returns the path of a member of the value at a path.
func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func messageOf(tag, param string, t reflect.Type) string {
	if tag == "enum" {
		return "must be one of " + strings.Join(enums[t], ", ")
	}
	if tag == "min" || tag == "max" || tag == "required" && t.Kind() != reflect.Pointer && kindOf(t) == anInteger {
		suffixes := map[kind]string{aString: " string", anArray: " slice", anInteger: " number", anObject: " object"}
		tag += suffixes[kindOf(t)]
	}
	message := messages[tag]
	if strings.Contains(message, "%s") {
		message = fmt.Sprintf(message, param)
	}
	if param == "1" { // 1 character, 1 element
		message = strings.TrimSuffix(message, "s")
	}
	return message
}
