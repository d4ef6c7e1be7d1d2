package app

import "maps"

// PriceChange holds the prices that differ between two states of a product or an option, in minor units by currency. A
// currency without a price is absent.
type PriceChange struct {
	From map[Currency]int64 `json:"from"`
	To   map[Currency]int64 `json:"to"`
}

// PriceChanges returns the details of the audit entry for the prices that differ in other: the product's name, its
// changed prices, and those of its options by group and name. It returns nil if no price differs. It matches options by
// id, or else by their name and the name of their group. An added or removed option is not a change of a price.
func (p Product) PriceChanges(other Product) map[string]any {
	details := map[string]any{}
	if change, ok := priceChange(p.allPrices(), other.allPrices()); ok {
		details["prices"] = change
	}
	before := map[string]map[Currency]int64{}
	for _, option := range p.pricedOptions() {
		before[string(option.id)], before[option.label] = option.prices, option.prices
	}
	options := map[string]PriceChange{}
	for _, option := range other.pricedOptions() {
		earlier, ok := before[string(option.id)]
		if !ok {
			earlier, ok = before[option.label]
		}
		if change, differs := priceChange(earlier, option.prices); ok && differs {
			if _, taken := options[option.label]; taken {
				option.label += " (" + string(option.id) + ")"
			}
			options[option.label] = change
		}
	}
	if len(options) > 0 {
		details["options"] = options
	}
	if len(details) == 0 {
		return nil
	}
	details["name"] = other.Name
	return details
}

// allPrices returns the prices of a product by currency.
func (p Product) allPrices() map[Currency]int64 {
	return withOwnPrice(p.Prices, p.PriceMinor, p.Currency)
}

// withOwnPrice returns prices with the price in the product's currency, unless prices has one.
func withOwnPrice(prices map[Currency]int64, price int64, own Currency) map[Currency]int64 {
	all := map[Currency]int64{own: price}
	maps.Copy(all, prices)
	return all
}

type pricedOption struct {
	id     OptionID
	label  string
	prices map[Currency]int64
}

func (p Product) pricedOptions() (all []pricedOption) {
	for _, group := range p.OptionGroups {
		for _, option := range group.Options {
			all = append(all, pricedOption{
				option.ID, group.Name + ": " + option.Name, withOwnPrice(option.Prices, option.PriceMinor, p.Currency),
			})
		}
	}
	return all
}

// priceChange returns the prices that differ. It returns false if all are equal.
func priceChange(before, after map[Currency]int64) (PriceChange, bool) {
	change := PriceChange{From: maps.Clone(before), To: maps.Clone(after)}
	for currency, price := range before {
		if same, ok := after[currency]; ok && same == price {
			delete(change.From, currency)
			delete(change.To, currency)
		}
	}
	return change, len(change.From)+len(change.To) > 0
}
