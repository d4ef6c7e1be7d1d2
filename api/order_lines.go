package api

import "github.com/comanda-dev/comanda/app"

// lineIn lists the members that a line of a request has. A line is of a product, or has a name and a price.
type lineIn struct{ product, name, options, price, rate bool }

func (in orderItemIn) lineIn() lineIn {
	return lineIn{
		product: in.ProductID != "", name: in.Name != nil, options: in.Options != nil,
		price: in.UnitPriceMinor != nil, rate: in.TaxRatePPM != nil,
	}
}

// check returns the faults of a new line. path is the beginning of the paths of its members.
func (in lineIn) check(path string) []app.Detail {
	faults := in.besideName(path)
	switch {
	case !in.product && !in.name:
		faults = append(faults, app.Detail{Path: path + "productId", Message: "is required, unless name is given"})
	case in.name && !in.price:
		faults = append(faults, app.Detail{Path: path + "unitPriceMinor", Message: "is required with name"})
	case !in.name && in.rate:
		faults = append(faults, app.Detail{Path: path + "taxRatePpm", Message: "is only allowed with name"})
	}
	return faults
}

// besideName returns the faults of members that are not allowed beside a name.
func (in lineIn) besideName(path string) (faults []app.Detail) {
	if in.name && in.product {
		faults = append(faults, app.Detail{Path: path + "productId", Message: "must be absent if name is given"})
	}
	if in.name && in.options {
		faults = append(faults, app.Detail{Path: path + "options", Message: "must be absent if name is given"})
	}
	return faults
}
