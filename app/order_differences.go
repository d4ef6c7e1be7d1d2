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

// NetChanges returns the differences that several changes of an order, in their order, make in total. before are the
// other members before the first change; nil if they are erased: then each change counts.
func NetChanges(changes []OrderUpdated, before *Amendable, now Order) OrderItemChanges {
	net := OrderItemChanges{Version: now.Version, ChangedFields: []string{}}
	var items []ItemChange
	for _, change := range changes {
		items = append(items, change.ItemChanges...)
		for _, member := range change.ChangedFields {
			if member != "items" && (before == nil || !before.same(AmendableOf(now), member)) {
				net.ChangedFields = append(net.ChangedFields, member)
			}
		}
	}
	net.ItemChanges = netItemChanges(items, now.Items)
	if len(net.ItemChanges) > 0 {
		net.ChangedFields = append(net.ChangedFields, "items")
	}
	slices.Sort(net.ChangedFields)
	net.ChangedFields = slices.Compact(net.ChangedFields)
	return net
}

// netItemChanges returns the changes that several ones, in their order, have in total up to the present items. An item
// that was added and removed, or changed and changed back, is not among them. The items after the changes are not
// taken from them, because an erasure can have removed their notes.
func netItemChanges(changes []ItemChange, now []OrderItem) []ItemChange {
	known := map[OrderItemID]bool{}
	var before, after []OrderItem
	for _, c := range changes {
		if known[c.ItemID] {
			continue
		}
		known[c.ItemID] = true
		if c.Before != nil {
			before = append(before, *c.Before)
		}
		if at := slices.IndexFunc(now, func(i OrderItem) bool { return i.ID == c.ItemID }); at >= 0 {
			after = append(after, now[at])
		}
	}
	return ItemChanges(before, after)
}
