package app

import "slices"

// Amendable are the members of an order, besides its items, that a change can name.
type Amendable struct {
	Customer         OrderCustomer    `json:"customer"`
	DeliveryAddress  *DeliveryAddress `json:"deliveryAddress"`
	DeliveryFeeMinor int64            `json:"deliveryFeeMinor"`
	DiscountMinor    int64            `json:"discountMinor"`
	Note             string           `json:"note"`
	RequestedFor     *Time            `json:"requestedFor"`
	TableLabel       string           `json:"tableLabel"`
}

// AmendableOf returns the members of an order.
func AmendableOf(o Order) Amendable {
	return Amendable{
		Customer: o.Customer, DeliveryAddress: o.DeliveryAddress, DeliveryFeeMinor: o.DeliveryFeeMinor,
		DiscountMinor: o.DiscountMinor, Note: o.Note, RequestedFor: o.RequestedFor, TableLabel: o.TableLabel,
	}
}

// same reports whether a member, named as in a request, has the same value.
func (a Amendable) same(b Amendable, member string) bool {
	switch member {
	case "customer", "customerId":
		return a.Customer.SameGuest(b.Customer) && samePointer(a.Customer.ID, b.Customer.ID)
	case "deliveryAddress":
		return samePointer(a.DeliveryAddress, b.DeliveryAddress)
	case "deliveryFeeMinor":
		return a.DeliveryFeeMinor == b.DeliveryFeeMinor
	case "discountMinor":
		return a.DiscountMinor == b.DiscountMinor
	case "note":
		return a.Note == b.Note
	case "requestedFor":
		return (a.RequestedFor == nil) == (b.RequestedFor == nil) &&
			(a.RequestedFor == nil || a.RequestedFor.Equal(b.RequestedFor.Time))
	case "tableLabel":
		return a.TableLabel == b.TableLabel
	}
	return false
}

func samePointer[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// NetChanges returns the differences that several changes of an order make in total. members are those that some change
// has changed, first is the first change of each item, and before are the other members before all changes; nil if they
// are erased: then each change counts.
func NetChanges(members []string, first []ItemChange, before *Amendable, now Order) OrderItemChanges {
	net := OrderItemChanges{Version: now.Version, ChangedFields: []string{}}
	for _, member := range members {
		if member != "items" && (before == nil || !before.same(AmendableOf(now), member)) {
			net.ChangedFields = append(net.ChangedFields, member)
		}
	}
	net.ItemChanges = netItemChanges(first, now.Items)
	if len(net.ItemChanges) > 0 {
		net.ChangedFields = append(net.ChangedFields, "items")
	}
	slices.Sort(net.ChangedFields)
	return net
}

// netItemChanges returns the total of all changes up to the present items, from the first change of each item. An item
// that was added and removed, or changed and changed back, is not among them. The items after the changes are not
// taken from them, because an erasure can have removed their notes.
func netItemChanges(first []ItemChange, now []OrderItem) []ItemChange {
	var before, after []OrderItem
	for _, c := range first {
		if c.Before != nil {
			before = append(before, *c.Before)
		}
		if at := slices.IndexFunc(now, func(i OrderItem) bool { return i.ID == c.ItemID }); at >= 0 {
			after = append(after, now[at])
		}
	}
	return ItemChanges(before, after)
}
