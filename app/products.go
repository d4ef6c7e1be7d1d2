package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Product is an item on a store's menu (docs/behaviour.md#products). Name, description, price and currency are the
// product's defaults, or those of the store view in which it is requested. The members translations and prices contain
// the values for other locales and currencies.
type Product struct {
	ID            ProductID              `json:"id"`
	StoreID       StoreID                `json:"storeId"`
	SKU           string                 `json:"sku,omitempty"`
	Name          string                 `json:"name"`
	Description   string                 `json:"description"`
	Category      string                 `json:"category"`
	ImageURL      string                 `json:"imageUrl,omitempty"`
	PriceMinor    int64                  `json:"priceMinor"`
	Currency      Currency               `json:"currency"`
	Prices        map[Currency]int64     `json:"prices"`               // minor units
	Translations  map[string]ProductText `json:"translations"`         // by BCP 47 locale
	TaxRatePPM    *int64                 `json:"taxRatePpm,omitempty"` // parts per million; absent = store's rate
	IsAvailable   bool                   `json:"isAvailable"`
	StockQuantity *int64                 `json:"stockQuantity,omitempty"` // absent if stock is not counted
	Orderable     bool                   `json:"orderable"`               // available, in stock and not sold out
	SoldOutUntil  *Time                  `json:"soldOutUntil,omitempty"`  // not orderable before this time
	OptionGroups  []OptionGroup          `json:"optionGroups"`
	Position      int64                  `json:"position"` // place on the menu, within the category
	ExternalID    string                 `json:"externalId,omitempty"`
	Metadata      map[string]string      `json:"metadata"`
	Version       int64                  `json:"version"` // also increases with each change of stock
	CreatedAt     Time                   `json:"createdAt"`
	UpdatedAt     Time                   `json:"updatedAt"`
	DeletedAt     *Time                  `json:"deletedAt,omitempty"`
}

// ProductText is the name and the description of a product in one locale.
type ProductText struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Price returns the price in minor units of a currency. It returns false if the product has no price in it.
func (p Product) Price(currency Currency) (int64, bool) {
	if price, ok := p.Prices[currency]; ok {
		return price, true
	}
	return p.PriceMinor, p.Currency == currency
}

// Text returns the product's texts in a locale. It falls back to the locale's language and then to the default texts.
func (p Product) Text(locale string) ProductText {
	language, _, _ := strings.Cut(locale, "-")
	for _, key := range []string{locale, language} {
		if text, ok := p.Translations[key]; ok {
			return text
		}
	}
	return ProductText{p.Name, p.Description}
}

// In returns the product with the texts and the prices of a view. If the product has no price in the view's currency,
// it keeps its default price and currency, and so do its options.
func (p Product) In(view StoreView) Product {
	text := p.Text(view.Locale)
	p.Name, p.Description = text.Name, text.Description
	price, priced := p.Price(view.Currency)
	if !priced {
		view.Currency = p.Currency
	}
	p.OptionGroups = optionGroupsIn(p.OptionGroups, p.Currency, view)
	if priced {
		p.PriceMinor, p.Currency = price, view.Currency
	}
	return p
}

// ListedProduct is a product of a list. These members are the stored JSON, because decoding and encoding the options of
// a page takes most of the time of a request. They are nil in the embedded product.
type ListedProduct struct {
	Product
	Prices       json.RawMessage `json:"prices"`
	Translations json.RawMessage `json:"translations"`
	OptionGroups json.RawMessage `json:"optionGroups"`
	Metadata     json.RawMessage `json:"metadata"`
}

// SameIn reports whether [Product.In] certainly has no effect on the product: the view has the product's own currency,
// in which there are no further prices, and no member is named as the view's locale or language.
func (p ListedProduct) SameIn(view StoreView) bool {
	language, _, _ := strings.Cut(view.Locale, "-")
	for _, name := range [...]string{view.Locale, language} {
		member := []byte(`"` + name + `":`) // not a part of a text, whose quotes are escaped
		if bytes.Contains(p.Translations, member) || bytes.Contains(p.OptionGroups, member) {
			return false
		}
	}
	return view.Currency == p.Currency
}

// OnSaleAt reports whether the product is available and not sold out at a time. It does not consider the stock.
func (p Product) OnSaleAt(now time.Time) bool {
	return p.DeletedAt == nil && p.IsAvailable && (p.SoldOutUntil == nil || !p.SoldOutUntil.After(now))
}

// OrderableAt reports whether the product can be ordered at a time: it is on sale and not out of stock.
func (p Product) OrderableAt(now time.Time) bool {
	return p.OnSaleAt(now) && (p.StockQuantity == nil || *p.StockQuantity > 0)
}

// Revised returns the product in its next version, changed at a time.
func (p Product) Revised(now time.Time) Product {
	p.Version, p.UpdatedAt = p.Version+1, p.UpdatedAt.OrLater(At(now))
	return p
}

// ProductUpdated is the data of product.updated (docs/behaviour.md#products).
type ProductUpdated struct {
	Product
	ChangedFields []string `json:"changedFields"` // names of the changed members; "deletedAt" after deletion
}

// Changes returns the names of the members that differ in other. It ignores version and updatedAt, which change every
// time.
func (p Product) Changes(other Product) []string {
	other.Version, other.UpdatedAt = p.Version, p.UpdatedAt
	return changedMembers(p, other)
}

// Category is a category that at least one product of the store has.
type Category struct {
	Name     string `json:"name"`
	Products int    `json:"products"` // number of products, including unavailable ones
}

// ProductFilter narrows a list of products. A zero value does not narrow it.
type ProductFilter struct {
	Category     string
	IsAvailable  *bool
	Orderable    *bool
	ExternalID   string
	Query        string // substring of the name, the SKU or a translated name; case-insensitive
	UpdatedSince *Time
	Deleted      bool // deleted products, too
}

// ProductSort is the order of a list of products.
type ProductSort string

const (
	ProductsNewest     ProductSort = "newest"
	ProductsByPosition ProductSort = "position" // by category, then by position
)
