package api

import (
	"fmt"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
)

// Limits that tags and code share. Texts are limited in characters.
const (
	maxHostName     = 253
	maxMetadata     = 50   // members
	maxPrices       = 200  // currencies in addition to the product's own
	maxRows         = 1000 // of an import
	maxTranslations = 100  // locales
)

// memberLimits are the rules that several members share, by the name under which their validate tags refer to them. The
// validator and the OpenAPI document resolve the names, so that a limit is stated once.
var memberLimits = map[string]string{
	"amount":      between(0, app.MaxAmountMinor),
	"paidamount":  between(1, app.MaxAmountMinor),
	"price":       between(0, app.MaxPriceMinor),
	"prices":      fmt.Sprintf("max=%d,dive,keys,currency,endkeys,price", maxPrices),
	"pricespatch": fmt.Sprintf("max=%d,dive,keys,currency,endkeys,omitempty,price", maxPrices),
	"taxrate":     between(0, 1_000_000), // parts per million

	"cursor":   "max=1024", // of the menu: a category of 100 characters with four bytes each
	"pagesize": between(1, 100),
	"search":   "max=200",

	"clientids":       fmt.Sprintf("max=%d,unique,dive,clientid", app.MaxClientIDs),
	"domain":          fmt.Sprintf("max=%d", maxHostName),
	"idtoken":         "bytes=16384",
	"linktoken":       "max=100",
	"newpassword":     fmt.Sprintf("min=%d,password,uncommon", app.MinPassword),
	"nonce":           "max=255",
	"onetimepassword": "max=100", // or a recovery code
	"password":        fmt.Sprintf("bytes=%d", app.MaxPassword),
	"personname":      "max=100",
	"scopes":          fmt.Sprintf("min=1,max=%d,unique,dive,enum", len(app.Scopes)),
	"storeids":        fmt.Sprintf("max=%d,unique,dive,id", app.MaxStores),
	"useremail":       "max=320",

	"externalid":    "max=255",
	"metadata":      fmt.Sprintf("max=%d,dive,keys,notblank,max=40,endkeys,max=500", maxMetadata),
	"metadatapatch": fmt.Sprintf("max=%d,dive,keys,notblank,max=40,endkeys,omitempty,max=500", maxMetadata),
	"name":          "max=200",

	"category":           "max=100",
	"imageurl":           "https_url,max=2048",
	"optiongroups":       "max=20,each",
	"position":           between(0, 1_000_000_000),
	"productdescription": "max=5000",
	"quantity":           between(1, 999),
	"rows":               fmt.Sprintf("min=1,max=%d,each", maxRows),
	"sku":                "max=64",
	"stock":              between(0, app.MaxStock),
	"stockchange":        between(-app.MaxStock, app.MaxStock),
	"translations":       fmt.Sprintf("max=%d,dive,keys,locale,endkeys", maxTranslations),
	"translationspatch":  fmt.Sprintf("max=%d,dive,keys,locale,endkeys,omitempty", maxTranslations),

	"addresslabel":    "max=50",
	"addressline":     "max=200",
	"addressnotes":    "max=500",
	"city":            "max=100",
	"customeremail":   "email,max=254",
	"orderitems":      "min=1,max=100,each",
	"ordernote":       "max=1000",
	"itemnote":        "max=200",
	"orderoptions":    fmt.Sprintf("max=%d,each", maxElements),
	"partysize":       between(1, app.MaxPartySize),
	"postalcode":      "max=20",
	"providerid":      "max=255",
	"reason":          "max=500",
	"region":          "max=100",
	"reservationnote": "max=1000",
	"stay":            between(app.MinReservationMinutes, app.MaxReservationMinutes),
	"tablelabel":      "max=40",
	"channel":         "max=40,oneline",

	"closurereason": "max=200",
	"dayminutes":    between(0, 24*60),
	"leastpoints":   between(0, app.MaxPoints),
	"loyaltypoints": between(1, app.MaxPoints),
	"pointvalue":    between(1, 1_000_000), // minor units
	"pointvalues":   fmt.Sprintf("max=%d,dive,keys,currency,endkeys,omitempty,pointvalue", maxPrices),
	"leadminutes":   between(0, 30*24*60),
	"spans":         "max=24,each", // of a day
	"staffrights":   fmt.Sprintf("max=%d,unique,dive,enum", len(app.StaffRights)),
	"storeviews":    fmt.Sprintf("min=1,max=%d,each", app.MaxStoreViews),
	"viewname":      "viewcode,max=50",

	"deliveryreason": "max=1000",
	"eventfilter":    "max=20,dive,listed",
	"secretoverlap":  between(0, int64(app.MaxSecretOverlap.Seconds())),
	"webhookevents":  fmt.Sprintf("min=1,max=%d,unique,dive,subscribable", len(app.EventTypes)),
	"webhookfilter":  fmt.Sprintf("notblank,max=%d", filter.MaxLength),
	"webhookheaders": fmt.Sprintf("max=%d,dive,keys,max=%d,endkeys,min=1,max=%d", app.MaxWebhookHeaders,
		app.MaxWebhookHeaderName, app.MaxWebhookHeaderValue),
	"webhooknote":   "max=200",
	"webhooksecret": "min=32,max=256",
	"webhookurl":    "max=2048",
}

func between(least, most int64) string { return fmt.Sprintf("min=%d,max=%d", least, most) }
