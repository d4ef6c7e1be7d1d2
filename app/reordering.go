package app

// JobReordering is the kind of a job that applies a changed ordering to the unfinished deliveries of a subscription.
// Its subject is the id of the subscription.
const JobReordering JobKind = "reordering"

// Reordering is the progress of a change of a subscription's ordering: the end of a batch, from which the next batch
// continues. The zero value is the start.
type Reordering struct {
	Ordering Ordering `json:"ordering,omitempty"` // that the batch applied
	Stage    int      `json:"stage,omitempty"`    // step of the change
	// Last delivery or resource of the batch in the order of its stage.
	Class    int    `json:"class,omitempty"`
	Position int64  `json:"position,omitempty"`
	Last     string `json:"last,omitempty"`

	Changed int  `json:"changed,omitempty"` // deliveries that the batch changed
	Done    bool `json:"done,omitempty"`    // the change is complete
}
