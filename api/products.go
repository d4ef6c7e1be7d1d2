package api

import (
	"context"
	"errors"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/ordering"
)

// Operations of products.
var (
	listProducts   = handle("listProducts", (*Server).products).documented(listBody[app.Product, cursorMeta]{})
	createProduct  = handle("createProduct", (*Server).createProduct, app.CodeConflict, app.CodeLimitReached)
	listCategories = handle("listCategories", (*Server).categories)
	getProduct     = handle("getProduct", (*Server).product)
	updateProduct  = handle("updateProduct", (*Server).changeProduct, app.CodeConflict, app.CodeLimitReached)
	deleteProduct  = handle("deleteProduct", (*Server).deleteProduct)
)

type productsIn struct {
	storeParam
	Category       string          `query:"category" validate:"category"`
	IsAvailable    *bool           `query:"isAvailable"`
	Orderable      *bool           `query:"orderable"`
	ExternalID     string          `query:"externalId" validate:"externalid"`
	Query          string          `query:"q" validate:"search"`
	UpdatedSince   *app.Time       `query:"updatedSince"`
	IncludeDeleted bool            `query:"includeDeleted"`
	Own            bool            `query:"own"`
	StoreViewID    app.StoreViewID `query:"storeViewId" validate:"omitempty,id"`
	Sort           app.ProductSort `query:"sort" default:"newest" validate:"enum"`
	pageParams
}

func (in productsIn) check() []app.Detail {
	if in.IncludeDeleted && in.UpdatedSince == nil {
		return []app.Detail{{Path: "updatedSince", Message: "is required with includeDeleted"}}
	}
	if in.Own && in.StoreViewID != "" {
		return []app.Detail{{Path: "storeViewId", Message: "must not be combined with own"}}
	}
	return nil
}

// products lists products in the language and the currency of a store view.
func (s *Server) products(ctx context.Context, c *call, in productsIn) (list[app.ListedProduct, cursorMeta], error) {
	none := list[app.ListedProduct, cursorMeta]{}
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return none, err
	}
	store, view := c.principal.StoreID, c.principal.View
	if in.StoreViewID != "" {
		if view, err = s.db.StoreView(ctx, store, in.StoreViewID); err != nil {
			return none, err
		}
	}
	filter := app.ProductFilter{
		Category: in.Category, IsAvailable: in.IsAvailable, Orderable: in.Orderable, Query: in.Query,
		ExternalID: in.ExternalID, UpdatedSince: in.UpdatedSince, Deleted: in.IncludeDeleted,
	}
	var found []app.ListedProduct
	var more bool
	next := func(p app.ListedProduct) string { return timePosition(p.CreatedAt, string(p.ID)) }
	if in.Sort == app.ProductsByPosition {
		next = func(p app.ListedProduct) string { return ordering.MenuCursorOf(p.Product).String() }
		found, more, err = s.db.Menu(ctx, c.now, store, filter, ordering.ParseMenuCursor(position), in.page())
	} else {
		found, more, err = s.db.Products(ctx, c.now, store, filter, timeCursor(position), in.page())
	}
	if err != nil {
		return none, err
	}
	page := listPage(s, c, found, in.Limit, more, next)
	for i, product := range page.items {
		if !in.Own && !product.SameIn(view) {
			if page.items[i], err = s.views.in(product, view); err != nil {
				return none, err
			}
		}
	}
	return page, nil
}

func decoded(p app.ListedProduct) (app.Product, error) {
	product := p.Product
	return product, errors.Join(
		json.Unmarshal(p.Prices, &product.Prices), json.Unmarshal(p.Translations, &product.Translations),
		json.Unmarshal(p.OptionGroups, &product.OptionGroups), json.Unmarshal(p.Metadata, &product.Metadata),
	)
}

// shown returns a product with its own texts and prices, or with those of a view.
func shown(product app.Product, own bool, view app.StoreView) app.Product {
	if own {
		return product
	}
	return product.In(view)
}

type categoriesIn struct {
	storeParam
	pageParams
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
	Own bool          `query:"own"`
}

func (s *Server) product(ctx context.Context, c *call, in productIn) (app.Product, error) {
	product, err := s.db.Product(ctx, c.now, c.principal.StoreID, in.ID)
	return shown(product, in.Own, c.principal.View), err
}

type createProductIn struct {
	StoreID       app.StoreID              `json:"storeId" validate:"omitempty,id"`
	SKU           string                   `json:"sku" validate:"omitempty,notblank,sku"`
	Name          string                   `json:"name" validate:"required,notblank,name"`
	Description   string                   `json:"description" validate:"productdescription"`
	Category      string                   `json:"category" validate:"omitempty,notblank,category"`
	ImageURL      string                   `json:"imageUrl" validate:"omitempty,imageurl"`
	PriceMinor    *int64                   `json:"priceMinor" validate:"required,price"`
	Currency      app.Currency             `json:"currency" validate:"required,currency"`
	Prices        map[app.Currency]int64   `json:"prices" validate:"prices"`
	Translations  map[string]productTextIn `json:"translations" validate:"translations"`
	TaxRatePPM    *int64                   `json:"taxRatePpm" validate:"omitempty,taxrate"`
	IsAvailable   *bool                    `json:"isAvailable"`
	StockQuantity *int64                   `json:"stockQuantity" validate:"omitempty,stock"`
	ExternalID    string                   `json:"externalId" validate:"omitempty,notblank,externalid"`
	Metadata      map[string]string        `json:"metadata" validate:"metadata"`
	SoldOutUntil  *app.Time                `json:"soldOutUntil"`
	OptionGroups  []optionGroupIn          `json:"optionGroups" validate:"optiongroups"`
	Position      int64                    `json:"position" validate:"position"`
}

type productTextIn struct {
	Name        string `json:"name" validate:"required,notblank,name"`
	Description string `json:"description" validate:"productdescription"`
}

func (in createProductIn) check() []app.Detail {
	var faults []app.Detail
	if _, twice := in.Prices[in.Currency]; twice {
		faults = append(faults, pricedTwice("prices", in.Currency))
	}
	faults = append(faults, checkOptionGroups(in.OptionGroups, nil)...)
	return append(faults, checkOptionPrices(optionGroups(in.OptionGroups), in.Currency)...)
}

func pricedTwice(prices string, currency app.Currency) app.Detail {
	return app.Detail{
		Path: member(prices, string(currency)), Message: "is the product's own currency; set priceMinor instead",
	}
}

func (in createProductIn) product() app.Product {
	p := app.Product{
		SKU: in.SKU, Name: in.Name, Description: in.Description, Category: in.Category, ImageURL: in.ImageURL,
		PriceMinor: *in.PriceMinor, Currency: in.Currency, Prices: in.Prices,
		Translations: map[string]app.ProductText{}, TaxRatePPM: in.TaxRatePPM, IsAvailable: true,
		StockQuantity: in.StockQuantity, SoldOutUntil: in.SoldOutUntil, OptionGroups: optionGroups(in.OptionGroups),
		Position: in.Position, ExternalID: in.ExternalID, Metadata: in.Metadata,
	}
	for locale, text := range in.Translations {
		p.Translations[locale] = app.ProductText(text)
	}
	patch(&p.IsAvailable, in.IsAvailable)
	return p
}

// createProduct returns the product with its own texts and price, as changeProduct does.
func (s *Server) createProduct(ctx context.Context, c *call, in createProductIn) (app.Product, error) {
	if err := checkSoldOut(c.now, soldOutMember, in.SoldOutUntil); err != nil {
		return app.Product{}, err
	}
	return s.db.CreateProduct(ctx, c.now, c.principal.StoreID, in.product(), c.once)
}

type changeProductIn struct {
	ID            app.ProductID      `path:"id"`
	IfMatch       etag               `header:"If-Match"`
	SKU           nullable[string]   `json:"sku" validate:"omitempty,notblank,sku"`
	Name          *string            `json:"name" validate:"omitempty,notblank,name"`
	Description   nullable[string]   `json:"description" validate:"omitempty,productdescription"`
	Category      nullable[string]   `json:"category" validate:"omitempty,notblank,category"`
	ImageURL      nullable[string]   `json:"imageUrl" validate:"omitempty,imageurl"`
	PriceMinor    *int64             `json:"priceMinor" validate:"omitempty,price"`
	Currency      *app.Currency      `json:"currency" validate:"omitempty,currency"`
	Prices        amounts            `json:"prices" validate:"pricespatch"`
	Translations  textsPatch         `json:"translations" validate:"translationspatch"`
	TaxRatePPM    nullable[int64]    `json:"taxRatePpm" validate:"omitempty,taxrate"`
	IsAvailable   *bool              `json:"isAvailable"`
	StockQuantity nullable[int64]    `json:"stockQuantity" validate:"omitempty,stock"`
	ExternalID    nullable[string]   `json:"externalId" validate:"omitempty,notblank,externalid"`
	Metadata      metadataPatch      `json:"metadata" validate:"metadatapatch"`
	SoldOutUntil  nullable[app.Time] `json:"soldOutUntil"`
	OptionGroups  *[]optionGroupIn   `json:"optionGroups" validate:"omitempty,optiongroups"`
	Position      *int64             `json:"position" validate:"omitempty,position"`
}

type productTextPatchIn struct {
	Name        *string          `json:"name" validate:"omitempty,notblank,name"`
	Description nullable[string] `json:"description" validate:"omitempty,productdescription"`
}

// apply applies the merge patch to a product. It returns VALIDATION_FAILED if the result is invalid.
func (in changeProductIn) apply(p *app.Product) error {
	patchOrClear(&p.SKU, in.SKU)
	patch(&p.Name, in.Name)
	patchOrClear(&p.Description, in.Description)
	patchOrClear(&p.Category, in.Category)
	patchOrClear(&p.ImageURL, in.ImageURL)
	patch(&p.PriceMinor, in.PriceMinor)
	patch(&p.Currency, in.Currency)
	p.Prices = patchEach(p.Prices, in.Prices, func(_, price int64) int64 { return price })
	p.Translations = patchEach(p.Translations, in.Translations, func(
		text app.ProductText, wanted productTextPatchIn,
	) app.ProductText {
		patch(&text.Name, wanted.Name)
		patchOrClear(&text.Description, wanted.Description)
		return text
	})
	patch(&p.TaxRatePPM, in.TaxRatePPM)
	patch(&p.IsAvailable, in.IsAvailable)
	patch(&p.StockQuantity, in.StockQuantity)
	patch(&p.SoldOutUntil, in.SoldOutUntil)
	patch(&p.Position, in.Position)
	patchOrClear(&p.ExternalID, in.ExternalID)
	p.Metadata = patchEach(p.Metadata, in.Metadata, sameText)
	faults := in.replaceOptions(p)
	if faults = append(faults, in.checkOutcome(*p)...); len(faults) > 0 {
		return app.InvalidAll(faults)
	}
	return nil
}

// checkOutcome returns the faults that depend on both the product and the patch.
func (in changeProductIn) checkOutcome(p app.Product) []app.Detail {
	faults := append(checkMetadata(p.Metadata), checkOptionPrices(p.OptionGroups, p.Currency)...)
	if _, twice := p.Prices[p.Currency]; twice {
		faults = append(faults, pricedTwice("prices", p.Currency))
	}
	for locale := range in.Translations {
		if text, ok := p.Translations[locale]; ok && text.Name == "" {
			faults = append(faults,
				app.Detail{Path: member(member("translations", locale), "name"), Message: "is required"})
		}
	}
	switch {
	case len(p.Prices) > maxPrices:
		faults = append(faults,
			app.Detail{Path: "prices", Message: messageOf("max", strconv.Itoa(maxPrices), reflect.TypeOf(p.Prices))})
	case len(p.Translations) > maxTranslations:
		faults = append(faults,
			app.Detail{Path: "translations",
				Message: messageOf("max", strconv.Itoa(maxTranslations), reflect.TypeOf(p.Translations))})
	}
	return faults
}

func (s *Server) changeProduct(ctx context.Context, c *call, in changeProductIn) (app.Product, error) {
	apply := func(p *app.Product) error {
		before := p.SoldOutUntil
		if err := in.apply(p); err != nil || in.SoldOutUntil == nil || sameTime(before, p.SoldOutUntil) {
			return err
		}
		return checkSoldOut(c.now, soldOutMember, p.SoldOutUntil)
	}
	return s.db.ChangeProduct(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, in.IfMatch.version(), apply)
}

type deleteProductIn struct {
	ID      app.ProductID `path:"id"`
	IfMatch etag          `header:"If-Match"`
}

func (s *Server) deleteProduct(ctx context.Context, c *call, in deleteProductIn) (nothing, error) {
	return nothing{}, s.db.DeleteProduct(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version())
}
