package app

import (
	"fmt"
)

// OrderOption is a snapshot of an option of one unit of an ordered product.
type OrderOption struct {
	GroupID    OptionGroupID `json:"groupId"`
	GroupName  string        `json:"groupName"`
	OptionID   OptionID      `json:"optionId"`
	Name       string        `json:"name"`
	Quantity   int64         `json:"quantity"`   // in one unit of the product
	PriceMinor int64         `json:"priceMinor"` // of one portion
}

// NewOrderOption selects an option for one unit of an ordered product.
type NewOrderOption struct {
	OptionID OptionID
	Quantity int64
}

// ChooseOptions returns the options of one unit of the product with the names and prices of a view, in the order of the
// menu. path is the path of the order's item. It returns OPTION_INVALID if the product does not have an option, if an
// option is not available, selected twice or selected too often, or if a group's bounds are not met, and PRICE_NOT_SET
// if an option has no price in the view's currency.
func (p Product) ChooseOptions(wanted []NewOrderOption, view StoreView, path string) ([]OrderOption, error) {
	at, err := placesOf(wanted, path)
	if err != nil {
		return nil, err
	}
	chosen := make([]OrderOption, 0, len(wanted))
	for _, group := range p.OptionGroups {
		var selections int64
		for _, option := range group.Options {
			i, ok := at[option.ID]
			if !ok {
				continue
			}
			delete(at, option.ID)
			price, priced := option.Price(view.Currency, p.Currency)
			switch quantity := wanted[i].Quantity; {
			case !option.IsAvailable:
				return nil, optionRefused(CodeOptionInvalid, path, i, "optionId", "is not available")
			case !priced:
				return nil, optionRefused(CodePriceNotSet, path, i, "optionId",
					"has no price in "+string(view.Currency))
			case quantity > option.MaxQuantity:
				return nil, optionRefused(CodeOptionInvalid, path, i, "quantity",
					fmt.Sprintf("must be at most %d", option.MaxQuantity))
			default:
				selections += quantity
				chosen = append(chosen, OrderOption{
					GroupID: group.ID, GroupName: optionName(group.Name, group.Translations, view.Locale),
					OptionID: option.ID, Name: optionName(option.Name, option.Translations, view.Locale),
					Quantity: quantity, PriceMinor: price,
				})
			}
		}
		if selections < group.MinSelections || selections > group.MaxSelections {
			return nil, group.outOfBounds(path+".options", selections)
		}
	}
	return chosen, noneLeft(wanted, at, path)
}

// NameOptions returns the options of a line whose price the caller sets. It checks less than [Product.ChooseOptions]:
// bounds of groups, availability and prices of options do not count. It returns OPTION_INVALID if the product does not
// have an option, or if an option is selected twice.
func (p Product) NameOptions(wanted []NewOrderOption, view StoreView, path string) ([]OrderOption, error) {
	at, err := placesOf(wanted, path)
	if err != nil {
		return nil, err
	}
	named := make([]OrderOption, 0, len(wanted))
	for _, group := range p.OptionGroups {
		for _, option := range group.Options {
			i, ok := at[option.ID]
			if !ok {
				continue
			}
			delete(at, option.ID)
			price, _ := option.Price(view.Currency, p.Currency)
			named = append(named, OrderOption{
				GroupID: group.ID, GroupName: optionName(group.Name, group.Translations, view.Locale),
				OptionID: option.ID, Name: optionName(option.Name, option.Translations, view.Locale),
				Quantity: wanted[i].Quantity, PriceMinor: price,
			})
		}
	}
	return named, noneLeft(wanted, at, path)
}

// placesOf returns the indexes of options. It returns OPTION_INVALID if an option is selected twice.
func placesOf(wanted []NewOrderOption, path string) (map[OptionID]int, error) {
	at := map[OptionID]int{}
	for i, w := range wanted {
		if _, twice := at[w.OptionID]; twice {
			return nil, optionRefused(CodeOptionInvalid, path, i, "optionId", "is selected twice; set quantity instead")
		}
		at[w.OptionID] = i
	}
	return at, nil
}

// noneLeft returns OPTION_INVALID if an option was not found in the product.
func noneLeft(wanted []NewOrderOption, left map[OptionID]int, path string) error {
	for i, w := range wanted {
		if _, unknown := left[w.OptionID]; unknown {
			return optionRefused(CodeOptionInvalid, path, i, "optionId", "is not an option of the product")
		}
	}
	return nil
}

func (g OptionGroup) outOfBounds(path string, selections int64) error {
	message := fmt.Sprintf("must have %d to %d selections of %s, not %d", g.MinSelections, g.MaxSelections, g.Name,
		selections)
	return &Error{Code: CodeOptionInvalid, Message: path + " " + message, Details: []Detail{{path, message}}}
}

func optionRefused(code Code, path string, index int, member, message string) error {
	path = fmt.Sprintf("%s.options[%d].%s", path, index, member)
	return &Error{Code: code, Message: path + " " + message, Details: []Detail{{path, message}}}
}

// OptionsPrice returns the price of the options of one unit.
func OptionsPrice(chosen []OrderOption) int64 {
	var sum int64 // at most 2000 options × 999 portions × MaxPriceMinor, which fits
	for _, o := range chosen {
		sum += o.PriceMinor * o.Quantity
	}
	return sum
}

// OptionNets returns the net amounts of the options of a line: their prices in all units, less their shares of the
// line's discount. The rest of the line has a share, too. The caller can set a price of the line that is
// lower than those of its options; then the options share it in proportion to their prices.
func OptionNets(chosen []OrderOption, quantity int64, line LineTotal) []int64 {
	nets := make([]int64, len(chosen), len(chosen)+1)
	for i, o := range chosen {
		nets[i] = o.PriceMinor * o.Quantity
	}
	if OptionsPrice(chosen) > line.TotalMinor/quantity {
		copy(nets, spread(line.TotalMinor, nets))
	} else {
		for i := range nets {
			nets[i] *= quantity
		}
	}
	rest := line.TotalMinor
	for _, net := range nets {
		rest -= net
	}
	for i, share := range spread(line.DiscountMinor, append(nets, rest))[:len(chosen)] {
		nets[i] -= share
	}
	return nets
}
