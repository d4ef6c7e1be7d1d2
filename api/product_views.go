package api

import (
	"sync"

	"github.com/comanda-dev/comanda/app"
)

// maxViewed limits the texts and encoded option groups of products that a server remembers, in bytes.
const maxViewed = 32 << 20

// productViews remembers what products have in views, because decoding and encoding the options of a page takes longer
// than its query. Each change of a product increases its version, so that no entry becomes wrong. It is safe for
// concurrent use.
type productViews struct {
	mu     sync.Mutex
	size   int // of the entries, in bytes
	viewed map[viewedKey]viewedProduct
}

type viewedKey struct {
	id       app.ProductID
	version  int64
	locale   string
	currency app.Currency
}

// viewedProduct holds the members of a product that depend on the view.
type viewedProduct struct {
	name, description string
	priceMinor        int64
	currency          app.Currency
	optionGroups      []byte
}

// in returns a product of a list with the texts and the prices of a view.
func (v *productViews) in(p app.ListedProduct, view app.StoreView) (app.ListedProduct, error) {
	key := viewedKey{p.ID, p.Version, view.Locale, view.Currency}
	v.mu.Lock()
	found, ok := v.viewed[key]
	v.mu.Unlock()
	if !ok {
		product, err := decoded(p)
		if err != nil {
			return p, err
		}
		product = product.In(view)
		groups, err := encode(product.OptionGroups)
		if err != nil {
			return p, err
		}
		found = viewedProduct{product.Name, product.Description, product.PriceMinor, product.Currency, groups}
		v.add(key, found)
	}
	p.Name, p.Description, p.PriceMinor, p.Currency = found.name, found.description, found.priceMinor, found.currency
	p.OptionGroups = found.optionGroups
	return p, nil
}

// size is an estimate of the memory of an entry, in bytes.
func (p viewedProduct) size() int {
	const overhead = 500 // without the texts and the option groups
	return overhead + len(p.name) + len(p.description) + len(p.optionGroups)
}

// add remembers a product. It forgets all others if they become too large.
func (v *productViews) add(key viewedKey, product viewedProduct) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.size += product.size()
	if v.viewed == nil || v.size > maxViewed {
		v.viewed, v.size = map[viewedKey]viewedProduct{}, product.size()
	}
	v.viewed[key] = product
}
