package api

import "github.com/comanda-dev/comanda/app"

// checkGuest returns the fault of a request that does not name exactly one of a customer and a guest.
func checkGuest(customer app.CustomerID, guest *guestIn) []app.Detail {
	switch {
	case customer == "" && guest == nil:
		return []app.Detail{{Path: "customerId", Message: "is required, unless customer is given"}}
	case customer != "" && guest != nil:
		return []app.Detail{{Path: "customerId", Message: "must be absent if customer is given"}}
	}
	return nil
}
