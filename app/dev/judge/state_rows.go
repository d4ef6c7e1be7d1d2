package main

import (
	"encoding/json"
	"time"
)

// Rows of the database, with the columns that the checkers need.

type storeRow struct {
	ID        string  `json:"id"`
	Website   string  `json:"website_id"`
	SandboxOf *string `json:"sandbox_of"`
	Timezone  string  `json:"timezone"`
}

// queue returns the queue of the deliveries of a store: the website or the sandbox (docs/behaviour.md#plan-rate).
func (s storeRow) queue() string {
	if s.SandboxOf != nil {
		return s.Website + "/test:" + s.ID
	}
	return s.Website
}

// eventRow is a committed event.
type eventRow struct {
	logged
	ID       string  `json:"id"`
	Order    int64   `json:"number"` // of the outbox: the order of commits within a resource
	Store    string  `json:"store_id"`
	Type     string  `json:"type"`
	Resource string  `json:"subject"`
	Body     *string `json:"body"`

	Position   int64  // 0 = not dispatched
	Dispatched logged // by the transaction that dispatched it
}

// eventBody is the part of the body of an event that checkers read.
type eventBody struct {
	Store string    `json:"storeId"`
	Time  time.Time `json:"timestamp"`
	Data  struct {
		Version     int64  `json:"version"`
		ID          string `json:"id"`
		Webhook     string `json:"webhookId"`
		Status      string `json:"status"`
		TotalMinor  int64  `json:"totalMinor"`
		PaymentID   string `json:"paymentId"`
		RefundID    string `json:"refundId"`
		AmountMinor int64  `json:"amountMinor"`
		PriceMinor  int64  `json:"priceMinor"`
		Orderable   bool   `json:"orderable"`

		DeletedAt *time.Time `json:"deletedAt"`
	} `json:"data"`
}

// parsed returns the body of an event. That of an event without a body is zero.
func (e eventRow) parsed() (body eventBody) {
	if e.Body != nil {
		_ = json.Unmarshal([]byte(*e.Body), &body) // a body that is no JSON has no members
	}
	return body
}

// webhookRow is a version of a webhook.
type webhookRow struct {
	logged
	ID        string     `json:"id"`
	Store     string     `json:"store_id"`
	URL       string     `json:"url"`
	Events    []string   `json:"events"`
	Filter    *string    `json:"filter"`
	Ordering  string     `json:"ordering"`
	Active    bool       `json:"is_active"`
	Version   int64      `json:"version"`
	DeletedAt *time.Time `json:"deleted_at"`
}

func (w webhookRow) live() bool { return w.Active && w.DeletedAt == nil }

// websiteRow is a version of a website.
type websiteRow struct {
	logged
	ID   string `json:"id"`
	Plan string `json:"plan"`
}

// deliveryRow is a delivery, or a state in which it was.
type deliveryRow struct {
	logged
	ID           string     `json:"id"`
	Store        string     `json:"store_id"`
	Event        string     `json:"event_id"`
	Webhook      string     `json:"subscription_id"`
	Queue        string     `json:"queue"`
	Class        int        `json:"class"`
	Status       string     `json:"status"`
	Reason       string     `json:"reason"`
	Attempts     int        `json:"attempts"`
	ScheduleBase int        `json:"schedule_base"`
	Replays      int        `json:"replays"`
	Replay       *string    `json:"replay_id"`
	Resource     string     `json:"resource"`
	Position     int64      `json:"position"`
	Ordered      bool       `json:"ordered"`
	Generation   int        `json:"generation"`
	CountedIn    *time.Time `json:"counted_in"`
	Type         string     `json:"event_type"`
	CreatedAt    time.Time  `json:"created_at"`
	EndedAt      *time.Time `json:"ended_at"`
	Burst        *string    `json:"burst_id"`
}

// classReplay is the class of deliveries that a replay has queued.
const classReplay = 2

func (d deliveryRow) isReplay() bool { return d.Class == classReplay }

// inProgress reports whether the delivery is between its claim and its end.
func (d deliveryRow) inProgress() bool { return d.Status == "pending" || d.Status == "retrying" }

func (d deliveryRow) ended() bool { return d.Status != "queued" && !d.inProgress() }

type attemptRow struct {
	ID         string    `json:"id"`
	Store      string    `json:"store_id"`
	Delivery   *string   `json:"delivery_id"`
	Webhook    string    `json:"subscription_id"`
	Event      string    `json:"event_id"`
	Number     int       `json:"number"`
	Status     string    `json:"status"`
	StatusCode int       `json:"status_code"`
	At         time.Time `json:"attempted_at"`
}

// windowRow is a window of a plan.
type windowRow struct {
	logged                  // when it was deleted; zero = it exists
	Queue         string    `json:"queue"`
	StartsAt      time.Time `json:"starts_at"`
	Started       int       `json:"started"`
	ReplayStarted int       `json:"replays_started"`
}

type orderRow struct {
	ID               string  `json:"id"`
	Store            string  `json:"store_id"`
	Number           int64   `json:"number"`
	Status           string  `json:"status"`
	Reason           string  `json:"cancellation_reason"`
	Customer         *string `json:"customer_id"`
	Channel          *string `json:"channel"`
	Fulfillment      string  `json:"fulfillment_type"`
	Day              string  `json:"business_date"`
	Currency         string  `json:"currency"`
	ItemCount        int64   `json:"item_count"`
	SubtotalMinor    int64   `json:"subtotal_minor"`
	DiscountMinor    int64   `json:"discount_minor"`
	LoyaltyPoints    int64   `json:"loyalty_points"`
	LoyaltyMinor     int64   `json:"loyalty_minor"`
	DeliveryFeeMinor int64   `json:"delivery_fee_minor"`
	TaxMinor         int64   `json:"tax_minor"`
	Taxes            []struct {
		TaxMinor int64 `json:"taxMinor"`
	} `json:"taxes"`
	TotalMinor       int64 `json:"total_minor"`
	PaidMinor        int64 `json:"paid_minor"`
	RefundedMinor    int64 `json:"refunded_minor"`
	CompensatedMinor int64 `json:"compensated_minor"`
	Version          int64 `json:"version"`
}

func (o orderRow) cancelled() bool { return o.Status == "CANCELLED" }

type itemRow struct {
	Order         string `json:"order_id"`
	Product       string `json:"product_id"`
	Quantity      int64  `json:"quantity"`
	TotalMinor    int64  `json:"total_minor"`
	DiscountMinor int64  `json:"discount_minor"`
	StockTaken    int64  `json:"stock_taken"`
}

// changeRow is an entry of the history of an order.
type changeRow struct {
	logged
	Order   string  `json:"order_id"`
	Version int64   `json:"version"`
	From    *string `json:"from_status"`
	To      *string `json:"to_status"`
	Event   string  `json:"event_id"`
}

type paymentRow struct {
	ID            string `json:"id"`
	Store         string `json:"store_id"`
	Order         string `json:"order_id"`
	Provider      string `json:"provider"`
	Transaction   string `json:"transaction_id"`
	Status        string `json:"status"`
	AmountMinor   int64  `json:"amount_minor"`
	TipMinor      int64  `json:"tip_minor"`
	RefundedMinor int64  `json:"refunded_minor"`
	RefundedTip   int64  `json:"refunded_tip"`
	Method        string `json:"payment_method"`

	CreatedAt time.Time `json:"created_at"`
}

func (p paymentRow) succeeded() bool { return p.Status == "SUCCEEDED" }

type refundRow struct {
	ID          string    `json:"id"`
	Payment     string    `json:"payment_id"`
	Order       string    `json:"order_id"`
	AmountMinor int64     `json:"amount_minor"`
	TipMinor    int64     `json:"tip_minor"`
	CreatedAt   time.Time `json:"created_at"`
}

// productRow is a product with a stock that it had.
type productRow struct {
	logged
	ID         string `json:"id"`
	Store      string `json:"store_id"`
	Stock      *int64 `json:"stock_quantity"`
	PriceMinor int64  `json:"price_minor"`
	Available  bool   `json:"is_available"`

	DeletedAt *time.Time `json:"deleted_at"`
}

// orderable reports whether a product that is not sold out can be ordered (docs/behaviour.md#products).
func (p productRow) orderable() bool {
	return p.Available && (p.Stock == nil || *p.Stock > 0) && p.DeletedAt == nil
}

// addressRow is an address of a customer.
type addressRow struct {
	ID       string `json:"id"`
	Customer string `json:"customer_id"`
}

type customerRow struct {
	ID            string     `json:"id"`
	Store         string     `json:"store_id"`
	Kind          string     `json:"kind"`
	LoyaltyPoints int64      `json:"loyalty_points"`
	TotalOrders   int64      `json:"total_orders"`
	Version       int64      `json:"version"`
	ErasedAt      *time.Time `json:"erased_at"`
}

type loyaltyRow struct {
	Customer string  `json:"customer_id"`
	Order    string  `json:"order_id"`
	Refund   *string `json:"refund_id"`
	Kind     string  `json:"kind"`
	Points   int64   `json:"points"`
}

// salesRow is a sum of the analytics.
type salesRow struct {
	Store            string `json:"store_id"`
	Day              string `json:"business_date"`
	Channel          string `json:"channel"`
	Fulfillment      string `json:"fulfillment_type"`
	Currency         string `json:"currency"`
	Orders           int64  `json:"orders"`
	GuestOrders      int64  `json:"guest_orders"`
	CancelledOrders  int64  `json:"cancelled_orders"`
	GrossMinor       int64  `json:"gross_minor"`
	DiscountMinor    int64  `json:"discount_minor"`
	TaxMinor         int64  `json:"tax_minor"`
	DeliveryFeeMinor int64  `json:"delivery_fee_minor"`
	ItemsSold        int64  `json:"items_sold"`
}

// productSalesRow is a sum of the analytics of a product.
type productSalesRow struct {
	Store    string `json:"store_id"`
	Day      string `json:"business_date"`
	Product  string `json:"product_id"`
	Currency string `json:"currency"`
	Quantity int64  `json:"quantity"`
	NetMinor int64  `json:"net_minor"`
}

// customerDayRow is the number of a customer's orders of a day.
type customerDayRow struct {
	Customer string `json:"customer_id"`
	Day      string `json:"business_date"`
	Orders   int64  `json:"orders"`
}

// numberRow is the last order number of a store.
type numberRow struct {
	Store string `json:"store_id"`
	Last  int64  `json:"last"`
}

// keyRow is a stored idempotency key.
type keyRow struct {
	logged
	Store   string `json:"store_id"`
	Key     string `json:"key"`
	Existed bool   `json:"existed"` // an earlier request had made the object
}
