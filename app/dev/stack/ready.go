package main

import "github.com/comanda-dev/comanda/app/dev/demo"

// Ready describes a running stack to other programs. It is written to ready.json once all parts run.
type Ready struct {
	APIURL            string `json:"apiUrl"`
	DashboardURL      string `json:"dashboardUrl"`
	TemporalUIURL     string `json:"temporalUiUrl"`
	TemporalAddress   string `json:"temporalAddress"`
	TemporalNamespace string `json:"temporalNamespace"`
	// DatabaseURL and SystemDatabaseURL are the URLs with which comanda serve and worker connect.
	DatabaseURL       string `json:"databaseUrl"`
	SystemDatabaseURL string `json:"systemDatabaseUrl"`
	CAFile            string `json:"caFile"`

	// ReceiverURL, the secret with which the receiver verifies, and AdminURL are absent with --infra.
	ReceiverURL    string `json:"receiverUrl,omitempty"`
	ReceiverSecret string `json:"receiverSecret,omitempty"`
	AdminURL       string `json:"adminUrl,omitempty"`

	// SocialURL is the issuer of the ID tokens that the API accepts, see package social. It is absent with --infra, and
	// if the environment configures a provider.
	SocialURL string `json:"socialUrl,omitempty"`

	// Users, Stores, PlatformAdmin, Customer and APIKey are the demo data.
	Users         []demo.User    `json:"users,omitempty"`
	Stores        []demo.Store   `json:"stores,omitempty"`
	PlatformAdmin *demo.Account  `json:"platformAdmin,omitempty"`
	Customer      *demo.Customer `json:"customer,omitempty"`
	APIKey        string         `json:"apiKey,omitempty"`

	// OwnerDatabaseURL and Env are present only with --infra: the URL for comanda migrate, and the environment of
	// comanda serve and worker.
	OwnerDatabaseURL string            `json:"ownerDatabaseUrl,omitempty"`
	Env              map[string]string `json:"env,omitempty"`
}
