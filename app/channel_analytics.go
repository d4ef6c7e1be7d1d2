package app

// MaxChannelSales is the maximum number of rows of sales by channel. Channels are free texts, so that a store can have
// a row per order.
const MaxChannelSales = 10_000

// ChannelSales is the sales of one channel and fulfillment type in one currency (docs/behaviour.md#analytics).
type ChannelSales struct {
	Channel         *string         `json:"channel"` // null = the store's own
	FulfillmentType FulfillmentType `json:"fulfillmentType"`
	Sales
}

// CompleteChannelSales sets the NetMinor and AverageOrderMinor of rows. It returns AMOUNT_TOO_LARGE if a sum exceeds
// MaxAmountMinor, and LIMIT_REACHED if there are more than MaxChannelSales rows.
func CompleteChannelSales(rows []ChannelSales) error {
	if len(rows) > MaxChannelSales {
		return Errorf(CodeLimitReached, "the period has more than %d rows; request a shorter period", MaxChannelSales)
	}
	for i := range rows {
		var sum Sales
		if err := sum.add(rows[i].Sales); err != nil {
			return err
		}
		rows[i].complete()
	}
	return nil
}
