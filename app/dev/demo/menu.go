package demo

import (
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

const (
	// platformAdmin is the email of the platform administrator.
	platformAdmin = "platform@comanda.example"
	// customer is the email of the first store's customer.
	customer = "customer@example.com"
	// receiverPattern matches the URLs of the receiver in earlier runs, which may have had other ports.
	receiverPattern = `^https://localhost:[0-9]+/hook$`
)

// Domain is the domain of the first restaurant's website.
const Domain = "trattoria.example"

// restaurant is a website with its stores, its users, and the menu of the first store.
type restaurant struct {
	website identity.NewWebsite
	stores  []identity.NewStore
	staff   []worker
	menu    []app.Product
}

// worker is a user of the first stores of a restaurant.
type worker struct {
	email, name string
	role        app.Role
	stores      int // number of these stores
}

// restaurants returns the restaurants of the demo data.
func restaurants() []restaurant {
	return []restaurant{
		{
			website: identity.NewWebsite{
				Name: "Trattoria Bella", Domain: Domain, Plan: app.PlanEnterprise,
			},
			stores: []identity.NewStore{
				{
					Name: "Trattoria Berlin", CountryCode: "DE", Timezone: "Europe/Berlin",
					TaxRatePPM: 70_000, TaxIncluded: true, DeliveryFees: map[app.Currency]int64{"EUR": 250, "USD": 300},
					Views: []app.StoreView{
						{Code: "de_de", Locale: "de-DE", Currency: "EUR"},
						{Code: "en_us", Locale: "en-US", Currency: "USD"},
					},
				},
				{
					Name: "Trattoria Zürich", CountryCode: "CH", Timezone: "Europe/Zurich",
					TaxRatePPM: 26_000, TaxIncluded: true, DeliveryFees: map[app.Currency]int64{"CHF": 500, "EUR": 500},
					Views: []app.StoreView{
						{Code: "de_ch", Locale: "de-CH", Currency: "CHF"},
						{Code: "fr_ch", Locale: "fr-CH", Currency: "EUR"},
					},
				},
			},
			staff: []worker{
				{"owner@trattoria.example", "Olivia Owner", app.RoleOwner, 2},
				{"admin@trattoria.example", "Adam Admin", app.RoleAdmin, 1},
				{"manager@trattoria.example", "Mara Manager", app.RoleManager, 1},
				{"staff@trattoria.example", "Stefan Staff", app.RoleStaff, 1},
			},
			menu: menu(),
		},
		{
			website: identity.NewWebsite{Name: "Sushi Kai", Domain: "sushi.example", Plan: app.PlanStarter},
			stores: []identity.NewStore{{
				Name: "Sushi Kai", CountryCode: "DE", Timezone: "Europe/Berlin", TaxRatePPM: 70_000, TaxIncluded: true,
				Views: []app.StoreView{{Code: "en_us", Locale: "en-US", Currency: "EUR"}},
			}},
			staff: []worker{{"owner@sushi.example", "Kai Owner", app.RoleOwner, 1}},
		},
	}
}

// menu returns the products of the first store.
func menu() []app.Product {
	var menu []app.Product
	for _, dish := range []struct {
		sku, name, german, category string
		eur, usd                    int64 // minor units
	}{
		{"PIZZA-01", "Pizza Margherita", "Pizza Margherita", "Pizza", 950, 1090},
		{"PIZZA-02", "Pizza Funghi", "Pizza mit Pilzen", "Pizza", 1150, 1290},
		{"PIZZA-03", "Pizza Diavola", "Pizza mit scharfer Salami", "Pizza", 1250, 1390},
		{"PASTA-01", "Spaghetti Carbonara", "Spaghetti Carbonara", "Pasta", 1190, 1350},
		{"PASTA-02", "Penne Arrabbiata", "Penne Arrabbiata", "Pasta", 990, 1150},
		{"SALAD-01", "Caesar Salad", "Caesar-Salat", "Salads", 890, 990},
		{"SOUP-01", "Minestrone", "Gemüsesuppe", "Soups", 650, 750},
		{"DESSERT-01", "Tiramisù", "Tiramisu", "Desserts", 590, 690},
		{"DRINK-01", "Espresso", "Espresso", "Drinks", 250, 290},
		{"DRINK-02", "Homemade lemonade", "Hausgemachte Limonade", "Drinks", 420, 490},
	} {
		menu = append(menu, app.Product{
			SKU: dish.sku, Name: dish.name, Category: dish.category, IsAvailable: true,
			PriceMinor: dish.eur, Currency: "EUR", Prices: map[app.Currency]int64{"USD": dish.usd},
			Translations: map[string]app.ProductText{"de-DE": {Name: dish.german}},
		})
	}
	return menu
}
