package api

import (
	"fmt"

	"github.com/comanda-dev/comanda/app"
)

type optionGroupIn struct {
	ID            app.OptionGroupID       `json:"id" validate:"omitempty,id"`
	Name          string                  `json:"name" validate:"required,notblank,name"`
	Translations  map[string]optionTextIn `json:"translations" validate:"translations"`
	MinSelections int64                   `json:"minSelections" validate:"min=0,max=999"`
	MaxSelections *int64                  `json:"maxSelections" validate:"omitempty,quantity"`
	Options       []productOptionIn       `json:"options" validate:"required,min=1,max=100,each"`
}

type productOptionIn struct {
	ID           app.OptionID            `json:"id" validate:"omitempty,id"`
	Name         string                  `json:"name" validate:"required,notblank,name"`
	Translations map[string]optionTextIn `json:"translations" validate:"translations"`
	PriceMinor   int64                   `json:"priceMinor" validate:"price"`
	Prices       map[app.Currency]int64  `json:"prices" validate:"prices"`
	IsAvailable  *bool                   `json:"isAvailable"`
	MaxQuantity  *int64                  `json:"maxQuantity" validate:"omitempty,quantity"`
}

type optionTextIn struct {
	Name string `json:"name" validate:"required,notblank,name"`
}

// optionGroups returns the groups of a request, with the defaults. Groups and options without id are new.
func optionGroups(in []optionGroupIn) []app.OptionGroup {
	groups := make([]app.OptionGroup, len(in))
	for i, wanted := range in {
		group := app.OptionGroup{
			ID: wanted.ID, Name: wanted.Name, Translations: optionTexts(wanted.Translations),
			MinSelections: wanted.MinSelections, MaxSelections: 1, Options: make([]app.Option, len(wanted.Options)),
		}
		patch(&group.MaxSelections, wanted.MaxSelections)
		for j, wanted := range wanted.Options {
			option := app.Option{
				ID: wanted.ID, Name: wanted.Name, Translations: optionTexts(wanted.Translations),
				PriceMinor: wanted.PriceMinor, Prices: wanted.Prices, IsAvailable: true, MaxQuantity: 1,
			}
			if option.Prices == nil {
				option.Prices = map[app.Currency]int64{}
			}
			patch(&option.IsAvailable, wanted.IsAvailable)
			patch(&option.MaxQuantity, wanted.MaxQuantity)
			group.Options[j] = option
		}
		groups[i] = group
	}
	return groups
}

func optionTexts(in map[string]optionTextIn) map[string]app.OptionText {
	texts := map[string]app.OptionText{}
	for locale, text := range in {
		texts[locale] = app.OptionText(text)
	}
	return texts
}

// checkOptionGroups returns the faults of groups that replace others: bounds that no selection can meet, and ids that
// the product does not have or that occur twice.
func checkOptionGroups(in []optionGroupIn, replaced []app.OptionGroup) []app.Detail {
	var faults []app.Detail
	fault := func(path, message string) { faults = append(faults, app.Detail{Path: path, Message: message}) }
	known := map[any]bool{} // by id of either type: whether it is still unused
	for _, group := range replaced {
		known[group.ID] = true
		for _, option := range group.Options {
			known[option.ID] = true
		}
	}
	checkID := func(path string, id any) {
		unused, ok := known[id]
		switch {
		case id == app.OptionGroupID("") || id == app.OptionID("") || unused:
		case ok:
			fault(path, "is a duplicate")
		default:
			fault(path, "is not an id of this product; omit it to create a new one")
		}
		if ok {
			known[id] = false
		}
	}
	for i, group := range optionGroups(in) {
		path := fmt.Sprintf("optionGroups[%d]", i)
		checkID(path+".id", group.ID)
		var available int64
		for j, option := range group.Options {
			checkID(fmt.Sprintf("%s.options[%d].id", path, j), option.ID)
			available += option.MaxQuantity
		}
		switch {
		case group.MaxSelections < 1 || len(group.Options) == 0: // already a fault
		case group.MinSelections > group.MaxSelections:
			fault(path+".minSelections", "must not exceed maxSelections")
		case group.MinSelections > available:
			fault(path+".minSelections",
				fmt.Sprintf("must not exceed the sum of maxQuantity of the options, %d", available))
		}
	}
	return faults
}

// checkOptionPrices returns the faults of options with a price in the product's own currency besides priceMinor.
func checkOptionPrices(groups []app.OptionGroup, own app.Currency) []app.Detail {
	var faults []app.Detail
	for i, group := range groups {
		for j, option := range group.Options {
			if _, twice := option.Prices[own]; twice {
				faults = append(faults, pricedTwice(fmt.Sprintf("optionGroups[%d].options[%d].prices", i, j), own))
			}
		}
	}
	return faults
}

// replaceOptions replaces the product's option groups if the patch has any, and returns the faults of the new ones.
func (in changeProductIn) replaceOptions(p *app.Product) []app.Detail {
	if in.OptionGroups == nil {
		return nil
	}
	faults := checkOptionGroups(*in.OptionGroups, p.OptionGroups)
	p.OptionGroups = optionGroups(*in.OptionGroups)
	return faults
}
