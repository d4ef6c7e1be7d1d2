package app

// WebhookTest identifies one test of a webhook and its test.ping event.
type WebhookTest struct {
	StoreID        StoreID        `json:"storeId"`
	SubscriptionID SubscriptionID `json:"subscriptionId"`
	EventID        EventID        `json:"eventId"`
}

// TestPing is the data of test.ping.
type TestPing struct {
	SubscriptionID SubscriptionID `json:"webhookId"`
	Message        string         `json:"message"`
}

// WebhookTestResult is the result of a test.
type WebhookTestResult struct {
	Delivered      bool    `json:"delivered"`
	StatusCode     int     `json:"statusCode"` // 0 = no response
	ResponseTimeMs int64   `json:"responseTimeMs"`
	EventID        EventID `json:"eventId"`
	Error          string  `json:"error,omitempty"` // why the test was not delivered
}
