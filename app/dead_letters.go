package app

// DeadLetters counts the dead letters of one subscription that have the same reason.
type DeadLetters struct {
	SubscriptionID SubscriptionID `json:"webhookId"`
	Reason         string         `json:"reason"`
	Count          int64          `json:"count"`
	OldestAt       Time           `json:"oldestAt"` // creation time of the oldest of these deliveries
	NewestAt       Time           `json:"newestAt"` // creation time of the newest of these deliveries
}
