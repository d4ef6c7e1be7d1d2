package app

import (
	"strings"
	"time"
)

// OptionGroup is a group of options from which a customer chooses for one unit of a product, for example its sizes
// (docs/behaviour.md#product-options). The bounds count quantities: two portions of one option are two selections.
type OptionGroup struct {
	ID            OptionGroupID         `json:"id"`
	Name          string                `json:"name"`
	Translations  map[string]OptionText `json:"translations"` // by BCP 47 locale
	MinSelections int64                 `json:"minSelections"`
	MaxSelections int64                 `json:"maxSelections"`
	Options       []Option              `json:"options"`
}

// Option is one choice of an [OptionGroup]. Its prices are added to the price of one unit of the product. They have the
// same form as those of the product: priceMinor is in the product's currency.
type Option struct {
	ID           OptionID              `json:"id"`
	Name         string                `json:"name"`
	Translations map[string]OptionText `json:"translations"` // by BCP 47 locale
	PriceMinor   int64                 `json:"priceMinor"`   // of one portion, in minor units
	Prices       map[Currency]int64    `json:"prices"`       // minor units
	IsAvailable  bool                  `json:"isAvailable"`
	MaxQuantity  int64                 `json:"maxQuantity"` // portions in one unit of the product
}

// OptionText is the name of an option or of a group in one locale.
type OptionText struct {
	Name string `json:"name"`
}

// Price returns the price of one portion in minor units of a currency. own is the product's currency. It returns false
// if the option has no price in the currency.
func (o Option) Price(currency, own Currency) (int64, bool) {
	if price, ok := o.Prices[currency]; ok {
		return price, true
	}
	return o.PriceMinor, own == currency
}

// optionName returns the name in a locale, with the fallback of [Product.Text].
func optionName(name string, translations map[string]OptionText, locale string) string {
	language, _, _ := strings.Cut(locale, "-")
	for _, key := range [...]string{locale, language} {
		if text, ok := translations[key]; ok {
			return text.Name
		}
	}
	return name
}

// optionGroupsIn returns copies of groups with the texts and the prices of a view. own is the product's currency. An
// option without a price in the view's currency cannot be ordered in the view: it keeps its price and is not available.
func optionGroupsIn(groups []OptionGroup, own Currency, view StoreView) []OptionGroup {
	shown := make([]OptionGroup, len(groups))
	for i, group := range groups {
		group.Name = optionName(group.Name, group.Translations, view.Locale)
		options := make([]Option, len(group.Options))
		for j, option := range group.Options {
			option.Name = optionName(option.Name, option.Translations, view.Locale)
			price, ok := option.Price(view.Currency, own)
			option.PriceMinor, option.IsAvailable = price, option.IsAvailable && ok
			options[j] = option
		}
		group.Options = options
		shown[i] = group
	}
	return shown
}

// NewOptionIDs gives an id to each of the product's groups and options that has none.
func (p *Product) NewOptionIDs(now time.Time) {
	for i := range p.OptionGroups {
		group := &p.OptionGroups[i]
		if group.ID == "" {
			group.ID = NewID[OptionGroupID](now)
		}
		for j := range group.Options {
			if group.Options[j].ID == "" {
				group.Options[j].ID = NewID[OptionID](now)
			}
		}
	}
}
