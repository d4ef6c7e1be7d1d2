package ordering

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// MenuCursor is the position at which a page of [DB.Menu] ended. Its zero value is the start.
type MenuCursor struct {
	Position  int64
	ProductID app.ProductID
	Category  string
}

// MenuCursorOf returns the position of a product.
func MenuCursorOf(p app.Product) MenuCursor { return MenuCursor{p.Position, p.ID, p.Category} }

// String formats the cursor for ParseMenuCursor.
func (c MenuCursor) String() string {
	return fmt.Sprintf("%d %s %s", c.Position, c.ProductID, c.Category)
}

// ParseMenuCursor parses the result of [MenuCursor.String]; "" is the start.
func ParseMenuCursor(text string) MenuCursor {
	place, rest, _ := strings.Cut(text, " ")
	product, category, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseInt(place, 10, 64) // String has formatted it
	return MenuCursor{n, app.ProductID(product), category}
}

// Menu lists a store's products by category, in the order of [DB.Categories], then by position. Products of the same
// position are ordered by age, oldest first. Products without a category come first. more reports whether further ones
// follow.
func (db *DB) Menu(
	ctx context.Context, now time.Time, store app.StoreID, filter app.ProductFilter, after MenuCursor,
	limit app.PageLimit,
) (products []app.ListedProduct, more bool, err error) {
	return db.listProducts(ctx, now, store, filter, limit, func(q *bun.SelectQuery) {
		q.OrderExpr(`p.category COLLATE "C", p.position, p.id`)
		if after.ProductID != "" {
			q.Where(`(p.category COLLATE "C", p.position, p.id) > (?, ?, ?)`, after.Category, after.Position,
				after.ProductID)
		}
	})
}
