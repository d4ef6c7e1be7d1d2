package app

// JobSoldOut is the kind of a job that reports the end of a product's soldOutUntil. Its subject is the product's id.
const JobSoldOut JobKind = "soldout"

// MaxStock is the largest stock of a product, in units.
const MaxStock = 1_000_000_000

// StockChange is a change of a product's stock by Adjust units or, if Adjust is nil, to Set.
type StockChange struct {
	Adjust *int64
	Set    *int64 // nil = unlimited
}

// Apply returns the stock after the change; nil is an unlimited stock. It returns CONFLICT if an adjustment applies to
// an unlimited stock, or if its result is negative or exceeds MaxStock.
func (c StockChange) Apply(stock *int64) (*int64, error) {
	switch {
	case c.Adjust == nil:
		return c.Set, nil
	case stock == nil:
		return nil, Errorf(CodeConflict, "the stock of this product is unlimited; set it instead of adjusting it")
	case *stock+*c.Adjust < 0:
		return nil, Errorf(CodeConflict, "the stock is %d; it cannot be reduced by %d", *stock, -*c.Adjust)
	case *stock+*c.Adjust > MaxStock:
		return nil, Errorf(CodeConflict, "the stock is %d; it cannot be increased beyond %d", *stock, MaxStock)
	}
	return new(*stock + *c.Adjust), nil
}
