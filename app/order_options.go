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
	at := map[OptionID]int{} // index in wanted
	for i, w := range wanted {
		if _, twice := at[w.OptionID]; twice {
			return nil, optionRefused(CodeOptionInvalid, path, i, "optionId", "is selected twice; set quantity instead")
		}
		at[w.OptionID] = i
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
				return nil, optionRefused(CodePriceNotSet, path, i, "optionId", "has no price in "+string(view.Currency))
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
	for i, w := range wanted {
		if _, unknown := at[w.OptionID]; unknown {
			return nil, optionRefused(CodeOptionInvalid, path, i, "optionId", "is not an option of the product")
		}
	}
	return chosen, nil
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
// line's discount. The rest of the line has a share, too.
func OptionNets(chosen []OrderOption, quantity int64, line LineTotal) []int64 {
	nets := make([]int64, len(chosen), len(chosen)+1)
	rest := line.TotalMinor
	for i, o := range chosen {
		nets[i] = o.PriceMinor * o.Quantity * quantity
		rest -= nets[i]
	}
	for i, share := range spread(line.DiscountMinor, append(nets, rest))[:len(chosen)] {
		nets[i] -= share
	}
	return nets
}
