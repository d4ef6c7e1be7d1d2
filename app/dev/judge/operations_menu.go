package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// newProduct returns a product with a random price. Some have a stock, some have options.
func newProduct(random *rand.Rand, sku string) comanda.CreateProductRequest {
	in := comanda.CreateProductRequest{
		Name: "Dish " + sku, SKU: &sku, PriceMinor: number(random, 300, 2500), Currency: "EUR",
		IsAvailable: new(true),
	}
	if random.IntN(3) == 0 {
		in.StockQuantity = new(int(number(random, 200, 2000)))
	}
	if random.IntN(2) == 0 {
		in.OptionGroups = []comanda.OptionGroupRequest{{
			Name: "Size", MinSelections: new(int64(1)), MaxSelections: new(1),
			Options: []comanda.ProductOptionRequest{
				{Name: "Small"}, {Name: "Large", PriceMinor: new(number(random, 50, 400))},
			},
		}}
	}
	return in
}

// newRows returns the rows of an import.
func newRows(random *rand.Rand, n int) []comanda.ImportedProductRequest {
	rows := make([]comanda.ImportedProductRequest, n)
	for i := range rows {
		rows[i] = comanda.ImportedProductRequest{
			SKU: fmt.Sprintf("IMPORT-%d", i), Name: new(fmt.Sprintf("Imported dish %d", i)), Currency: new("EUR"),
			PriceMinor: new(number(random, 300, 2500)),
		}
	}
	return rows
}

func createProduct(ctx context.Context, t *turn) error {
	in := newProduct(t.random, t.unique("NEW"))
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		product, err := c.CreateProduct(ctx, in, key)
		if err == nil {
			t.Subject = product.ID
			remember(t.site, &t.site.products, product)
		}
		return err
	})
}

// product chooses a product of the menu.
func (t *turn) product() (*comanda.Product, error) {
	product, err := choose(t, &t.site.products)
	if err == nil {
		t.Subject = product.ID
	}
	return product, err
}

func changeProduct(ctx context.Context, t *turn) error {
	product, err := t.product()
	if err != nil {
		return err
	}
	in := comanda.ChangeProductRequest{PriceMinor: new(number(t.random, 300, 2500))}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.UpdateProduct(ctx, product.ID, in)
		return err
	})
}

// fewestProducts is the number of products that a menu keeps.
const fewestProducts = 8

// deleteProduct deletes a product, unless the menu has few. Further orders do not choose it.
func deleteProduct(ctx context.Context, t *turn) error {
	s := t.site
	s.lock.Lock()
	if len(s.products) <= fewestProducts {
		s.lock.Unlock()
		return errNoTarget
	}
	i := t.random.IntN(len(s.products))
	t.Subject = s.products[i].ID
	s.products = slices.Delete(slices.Clone(s.products), i, i+1)
	s.lock.Unlock()
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		return c.DeleteProduct(ctx, t.Subject)
	})
}

// changeStock adds to the stock of a product. It is refused for a product without a stock.
func changeStock(ctx context.Context, t *turn) error {
	product, err := t.product()
	if err != nil {
		return err
	}
	in := comanda.ChangeStockRequest{Adjust: new(int(number(t.random, 1, 20)))}
	t.Amount = int64(*in.Adjust)
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		_, err := c.ChangeStock(ctx, product.ID, in, key)
		return err
	})
}

// sellOut marks a product as sold out for some seconds. A job emits an event when they have passed.
func sellOut(ctx context.Context, t *turn) error {
	product, err := t.product()
	if err != nil {
		return err
	}
	until := time.Now().Add(time.Duration(number(t.random, 2, 8)) * time.Second)
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.SetSoldOut(ctx, product.ID, comanda.SellOutRequest{Until: comanda.Set(until)})
		return err
	})
}

const (
	// fillingRows is the number of rows of an import that fills a window of the plan STARTER, and fillingPart is the part
	// of the imports, one of this number, that are so large. They are those of a run with calm times only, in which the
	// first attempts of a window are judged.
	fillingRows = 300
	fillingPart = 6
)

// importMenu imports products with new prices, which emits an event for each of them.
func importMenu(ctx context.Context, t *turn) error {
	n := int(number(t.random, 5, 30))
	if t.site.name == starter && t.site.all.h.Lasts >= calmFrom && t.random.IntN(fillingPart) == 0 {
		n = fillingRows
	}
	rows := newRows(t.random, n)
	t.Detail = fmt.Sprintf("%d rows", len(rows))
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		_, err := c.ImportProducts(ctx, comanda.ImportProductsParams{}, rows, key)
		return err
	})
}
