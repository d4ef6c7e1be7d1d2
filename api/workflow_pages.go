package api

import (
	"net/url"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// workflowPages are the pages of Temporal's Web UI that deliveries link to.
type workflowPages struct {
	prefix      string               // before the id of a workflow; "" = no links
	retention   func() time.Duration // the time for which Temporal keeps a closed workflow; 0 = unknown
	deadLetters time.Duration        // the time for which the workflow of a dead letter stays open
}

// of returns the page of a delivery's workflow, "" if there is none: the delivery is queued, or Temporal no
// longer keeps the workflow.
func (p workflowPages) of(d app.Delivery, now time.Time) string {
	if p.prefix == "" || d.WorkflowID == "" {
		return ""
	}
	if kept := p.retention(); d.EndedAt != nil && kept > 0 {
		ended := d.EndedAt.Time
		if d.Status == app.DeliveryDeadLetter && d.WorkflowID == app.DeliveryWorkflowID(d.EventID, d.SubscriptionID) {
			ended = ended.Add(p.deadLetters)
		}
		if now.Sub(ended) > kept {
			return ""
		}
	}
	return p.prefix + url.PathEscape(d.WorkflowID)
}
