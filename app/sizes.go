package app

import (
	"bytes"
	"encoding/json"
)

// Maximum sizes of JSON in bytes. Every webhook of a store loads its events, so their sizes multiply.
const (
	MaxEvent = 1 << 20

	// MaxObject is the maximum size of an order or a product when a request creates or changes it. Later events of the
	// same object can be somewhat larger, for example by the reason of a cancellation, and still have at most MaxEvent:
	// a change of status does not fail because of its size.
	MaxObject = MaxEvent - 64<<10

	// MaxOrdered is the size of the products of an order after which no further one is read: of their texts, prices and
	// options in the database. All of them are in memory to price the order.
	MaxOrdered = 4 << 20
)

// encoded returns v as JSON. It escapes only characters that JSON requires.
func encoded(v any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), err
}

// CheckSize returns LIMIT_REACHED if the order has more than [MaxObject] bytes.
func (o Order) CheckSize() error {
	size := 0
	for _, item := range o.Items { // one at a time, because together they can have many times the limit
		body, err := encoded(item)
		if err != nil {
			return err
		}
		if size += len(body); size > MaxObject {
			break
		}
	}
	o.Items = nil
	body, err := encoded(o)
	if err == nil && size+len(body) > MaxObject {
		err = Errorf(CodeLimitReached, "the order must have at most %d bytes as JSON; "+
			"order fewer items, or fewer options with long names", MaxObject)
	}
	return err
}

// Size returns the size of the product as JSON, in bytes.
func (p Product) Size() (int, error) {
	body, err := encoded(p)
	return len(body), err
}

// CheckSize returns LIMIT_REACHED if the product has more than [MaxObject] bytes.
func (p Product) CheckSize() error {
	size, err := p.Size()
	if err == nil && size > MaxObject {
		err = Errorf(CodeLimitReached, "the product must have at most %d bytes as JSON", MaxObject)
	}
	return err
}
