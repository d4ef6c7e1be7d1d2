package app

import (
	"strings"
)

// Product is something on a store's menu (contract §5). Name, description, price and
// currency are the product's own, or those of the view in which it is shown; Translations
// and Prices hold the others.
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
	TaxRatePPM    *int64                 `json:"taxRatePpm,omitempty"` // parts per million; the store's when absent
	IsAvailable   bool                   `json:"isAvailable"`
	StockQuantity *int64                 `json:"stockQuantity,omitempty"` // not counted when absent
	Version       int64                  `json:"version"`
	CreatedAt     Time                   `json:"createdAt"`
	UpdatedAt     Time                   `json:"updatedAt"`
}

// ProductText is what a product is called in one locale.
type ProductText struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Price returns the price in minor units of a currency, false when none is set.
func (p Product) Price(currency Currency) (int64, bool) {
	if price, ok := p.Prices[currency]; ok {
		return price, true
	}
	return p.PriceMinor, p.Currency == currency
}

// Text returns the product's texts in a locale, else in its language, else the
// product's own.
func (p Product) Text(locale string) ProductText {
	language, _, _ := strings.Cut(locale, "-")
	for _, key := range []string{locale, language} {
		if text, ok := p.Translations[key]; ok {
			return text
		}
	}
	return ProductText{p.Name, p.Description}
}

// In returns the product as the view shows it. Where the view's currency has no price,
// the product keeps its own.
func (p Product) In(view StoreView) Product {
	text := p.Text(view.Locale)
	p.Name, p.Description = text.Name, text.Description
	if price, ok := p.Price(view.Currency); ok {
		p.PriceMinor, p.Currency = price, view.Currency
	}
	return p
}

// ProductUpdated is the data of product.updated (contract §5).
type ProductUpdated struct {
	Product
	ChangedFields []string `json:"changedFields"` // by their names in the product; "deletedAt" once it is gone
}

// Changes returns the names of the members in which another state of the product differs,
// those left out that differ after every change.
func (p Product) Changes(other Product) []string {
	other.Version, other.UpdatedAt = p.Version, p.UpdatedAt
	return changedMembers(p, other)
}

// Category is one of those that a store's products are in.
type Category struct {
	Name     string `json:"name"`
	Products int    `json:"products"` // on the menu, available or not
}

// ProductFilter narrows a list of products; zero values narrow nothing.
type ProductFilter struct {
	Category     string
	IsAvailable  *bool
	Query        string // found in the name, the SKU or a translated name, in any case
	UpdatedSince *Time
}
