package api

import (
	"context"
	"reflect"
	"strconv"

	"github.com/comanda-dev/comanda/app"
)

type productsIn struct {
	StoreID      app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Category     string      `query:"category" validate:"max=100"`
	IsAvailable  *bool       `query:"isAvailable"`
	Query        string      `query:"q" validate:"max=200" description:"Found in the name, the SKU or a translated name, in any case."`
	UpdatedSince *app.Time   `query:"updatedSince" description:"Changed at that time or later."`
	Own          bool        `query:"own" description:"Shows the products' own texts and prices instead of the view's, as for editing them."`
	Limit        int         `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor       string      `query:"cursor" validate:"max=512" description:"nextCursor of the page before, with the same filters."`
}

// products shows the menu in the language and the currency of the caller's store view.
func (s *Server) products(ctx context.Context, c *call, in productsIn) (list[app.Product, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Product, cursorMeta]{}, err
	}
	filter := app.ProductFilter{Category: in.Category, IsAvailable: in.IsAvailable, Query: in.Query, UpdatedSince: in.UpdatedSince}
	found, err := s.db.Products(ctx, c.principal.StoreID, filter, timeCursor(position), in.Limit+1)
	for i := range found {
		found[i] = shown(found[i], in.Own, c.principal)
	}
	return paged(s, c, found, in.Limit, func(p app.Product) string { return timePosition(p.CreatedAt, string(p.ID)) }), err
}

// shown is a product as it is, or in the language and the currency of the caller's view.
func shown(product app.Product, own bool, caller app.Principal) app.Product {
	if own {
		return product
	}
	return product.In(caller.View)
}

type categoriesIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Limit   int         `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor  string      `query:"cursor" validate:"max=1024" description:"nextCursor of the page before."`
}

func (s *Server) categories(ctx context.Context, c *call, in categoriesIn) (list[app.Category, cursorMeta], error) {
	after, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Category, cursorMeta]{}, err
	}
	found, err := s.db.Categories(ctx, c.principal.StoreID, after, in.Limit+1)
	return paged(s, c, found, in.Limit, func(one app.Category) string { return one.Name }), err
}

type productIn struct {
	ID  app.ProductID `path:"id"`
	Own bool          `query:"own" description:"Shows the product's own texts and price instead of the view's, as for editing it."`
}

func (s *Server) product(ctx context.Context, c *call, in productIn) (app.Product, error) {
	product, err := s.db.Product(ctx, c.principal.StoreID, in.ID)
	return shown(product, in.Own, c.principal), err
}

type createProductIn struct {
	StoreID       app.StoreID              `json:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	SKU           string                   `json:"sku" validate:"omitempty,notblank,max=64" example:"PIZ-1" description:"No two products of the store have the same."`
	Name          string                   `json:"name" validate:"required,notblank,max=200" example:"Pizza Margherita"`
	Description   string                   `json:"description" validate:"max=5000" example:"Tomatoes, mozzarella, basil"`
	Category      string                   `json:"category" validate:"omitempty,notblank,max=100" example:"pizza"`
	ImageURL      string                   `json:"imageUrl" validate:"omitempty,https_url,max=2048" example:"https://example.com/margherita.jpg"`
	PriceMinor    *int64                   `json:"priceMinor" validate:"required,min=0,max=1000000000000" example:"950" description:"In minor units."`
	Currency      app.Currency             `json:"currency" validate:"required,currency" example:"EUR" description:"Of priceMinor: an ISO 4217 code."`
	Prices        map[app.Currency]int64   `json:"prices" validate:"max=200,dive,keys,currency,endkeys,min=0,max=1000000000000" description:"In minor units of other currencies."`
	Translations  map[string]productTextIn `json:"translations" validate:"max=100,dive,keys,locale,endkeys" description:"By BCP 47 locale. A view shows its locale's, else its language's, else the product's own texts."`
	TaxRatePPM    *int64                   `json:"taxRatePpm" validate:"omitempty,min=0,max=1000000" example:"70000" description:"Parts per million. The store's when absent."`
	IsAvailable   *bool                    `json:"isAvailable" description:"True by default."`
	StockQuantity *int64                   `json:"stockQuantity" validate:"omitempty,min=0,max=1000000000" description:"How many can still be ordered. Not counted when absent."`
}

type productTextIn struct {
	Name        string `json:"name" validate:"required,notblank,max=200"`
	Description string `json:"description" validate:"max=5000"`
}

func (in createProductIn) check() []app.Detail {
	if _, twice := in.Prices[in.Currency]; twice {
		return []app.Detail{pricedTwice(in.Currency)}
	}
	return nil
}

func pricedTwice(currency app.Currency) app.Detail {
	return app.Detail{Path: member("prices", string(currency)), Message: "is the product's own currency, whose price is priceMinor"}
}

func (in createProductIn) product() app.Product {
	p := app.Product{
		SKU: in.SKU, Name: in.Name, Description: in.Description, Category: in.Category, ImageURL: in.ImageURL,
		PriceMinor: *in.PriceMinor, Currency: in.Currency, Prices: in.Prices, Translations: map[string]app.ProductText{},
		TaxRatePPM: in.TaxRatePPM, IsAvailable: true, StockQuantity: in.StockQuantity,
	}
	for locale, text := range in.Translations {
		p.Translations[locale] = app.ProductText(text)
	}
	patch(&p.IsAvailable, in.IsAvailable)
	return p
}

// createProduct answers with the product's own texts and price, as changeProduct.
func (s *Server) createProduct(ctx context.Context, c *call, in createProductIn) (app.Product, error) {
	answer := func(created app.Product) any { return stored{created} }
	return s.db.CreateProduct(ctx, c.now, c.principal.StoreID, in.product(), c.once, answer)
}

type changeProductIn struct {
	ID            app.ProductID                  `path:"id"`
	IfMatch       etag                           `header:"If-Match" description:"The version, in double quotes, that the product must still have."`
	SKU           nullable[string]               `json:"sku" validate:"omitempty,notblank,max=64"`
	Name          *string                        `json:"name" validate:"omitempty,notblank,max=200"`
	Description   nullable[string]               `json:"description" validate:"omitempty,max=5000"`
	Category      nullable[string]               `json:"category" validate:"omitempty,notblank,max=100"`
	ImageURL      nullable[string]               `json:"imageUrl" validate:"omitempty,https_url,max=2048"`
	PriceMinor    *int64                         `json:"priceMinor" validate:"omitempty,min=0,max=1000000000000" description:"In minor units."`
	Currency      *app.Currency                  `json:"currency" validate:"omitempty,currency" description:"Of priceMinor: an ISO 4217 code."`
	Prices        map[app.Currency]*int64        `json:"prices" validate:"max=200,dive,keys,currency,endkeys,omitempty,min=0,max=1000000000000" description:"In minor units of other currencies. Those that are not named stay; null takes one out."`
	Translations  map[string]*productTextPatchIn `json:"translations" validate:"max=100,dive,keys,locale,endkeys,omitempty" description:"By BCP 47 locale. Those that are not named stay; null takes one out."`
	TaxRatePPM    nullable[int64]                `json:"taxRatePpm" validate:"omitempty,min=0,max=1000000" description:"Parts per million."`
	IsAvailable   *bool                          `json:"isAvailable"`
	StockQuantity nullable[int64]                `json:"stockQuantity" validate:"omitempty,min=0,max=1000000000" description:"How many can still be ordered. null ends the counting."`
}

type productTextPatchIn struct {
	Name        *string          `json:"name" validate:"omitempty,notblank,max=200" description:"Needed for a locale that has no texts yet."`
	Description nullable[string] `json:"description" validate:"omitempty,max=5000"`
}

// apply is the merge patch. What it has to say about the outcome is VALIDATION_FAILED.
func (in changeProductIn) apply(p *app.Product) error {
	patchOrClear(&p.SKU, in.SKU)
	patch(&p.Name, in.Name)
	patchOrClear(&p.Description, in.Description)
	patchOrClear(&p.Category, in.Category)
	patchOrClear(&p.ImageURL, in.ImageURL)
	patch(&p.PriceMinor, in.PriceMinor)
	patch(&p.Currency, in.Currency)
	p.Prices = patchEach(p.Prices, in.Prices, func(_, price int64) int64 { return price })
	p.Translations = patchEach(p.Translations, in.Translations, func(text app.ProductText, wanted productTextPatchIn) app.ProductText {
		patch(&text.Name, wanted.Name)
		patchOrClear(&text.Description, wanted.Description)
		return text
	})
	patch(&p.TaxRatePPM, in.TaxRatePPM)
	patch(&p.IsAvailable, in.IsAvailable)
	patch(&p.StockQuantity, in.StockQuantity)
	return in.checkOutcome(*p)
}

// checkOutcome refuses what only the product and its patch together can get wrong.
func (in changeProductIn) checkOutcome(p app.Product) error {
	var faults []app.Detail
	if _, twice := p.Prices[p.Currency]; twice {
		faults = append(faults, pricedTwice(p.Currency))
	}
	for locale := range in.Translations {
		if text, ok := p.Translations[locale]; ok && text.Name == "" {
			faults = append(faults, app.Detail{Path: member(member("translations", locale), "name"), Message: "is required"})
		}
	}
	switch {
	case len(p.Prices) > maxPrices:
		faults = append(faults, app.Detail{Path: "prices", Message: messageOf("max", strconv.Itoa(maxPrices), reflect.TypeOf(p.Prices))})
	case len(p.Translations) > maxTranslations:
		faults = append(faults, app.Detail{Path: "translations", Message: messageOf("max", strconv.Itoa(maxTranslations), reflect.TypeOf(p.Translations))})
	}
	if len(faults) > 0 {
		return app.InvalidAll(faults)
	}
	return nil
}

// How many a product may have, as in the tags.
const (
	maxPrices       = 200
	maxTranslations = 100
)

func (s *Server) changeProduct(ctx context.Context, c *call, in changeProductIn) (app.Product, error) {
	return s.db.ChangeProduct(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version(), in.apply)
}

type deleteProductIn struct {
	ID      app.ProductID `path:"id"`
	IfMatch etag          `header:"If-Match" description:"The version, in double quotes, that the product must still have."`
}

func (s *Server) deleteProduct(ctx context.Context, c *call, in deleteProductIn) (nothing, error) {
	return nothing{}, s.db.DeleteProduct(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version())
}
