package comanda

import (
	"context"
	"iter"
)

// List is a page of a list, or a whole list, with facts about it.
type List[T, M any] struct {
	Data []T
	Meta M
}

func list[T, M any](ctx context.Context, c *Client, in call, options []CallOption) (*List[T, M], error) {
	var out envelope
	if err := c.do(ctx, in, &out, options); err != nil {
		return nil, err
	}
	var l List[T, M]
	if err := in.decode(out.Data, &l.Data); err != nil {
		return nil, err
	}
	return &l, in.decode(out.Meta, &l.Meta)
}

// pages iterates over the rows of a list from a cursor on.
func pages[T any](cursor string, page func(cursor string) (*List[T, CursorMeta], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := &cursor; next != nil; {
			l, err := page(*next)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range l.Data {
				if !yield(row, nil) {
					return
				}
			}
			next = l.Meta.NextCursor
		}
	}
}
