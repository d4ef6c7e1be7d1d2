package app

// Overdue is a delivery whose next step is overdue, so that its workflow may be lost.
type Overdue struct {
	Claim

	Status DeliveryStatus // DeliveryPending or DeliveryRetrying
}

// OverdueBatch is the next deliveries whose workflows the reconciler checks.
type OverdueBatch struct {
	Claims []Overdue
	Left   int // overdue deliveries outside the batch that this pass has not checked yet
}
