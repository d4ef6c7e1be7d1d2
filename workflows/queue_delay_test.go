package workflows

import (
	"testing"
	"time"
)

// A process is behind for a moment after it began a workflow that had waited too long.
func TestQueueDelay(t *testing.T) {
	t.Parallel()
	delay, now := new(queueDelay), time.Now()
	if delay.behind(now) {
		t.Error("behind before any workflow")
	}
	delay.began(now, maxQueueDelay)
	if delay.behind(now) {
		t.Errorf("behind after a wait of %s", maxQueueDelay)
	}
	delay.began(now, maxQueueDelay+1)
	delay.began(now.Add(time.Millisecond), 0)
	if !delay.behind(now.Add(behindTime - 1)) {
		t.Errorf("not behind %s after a longer wait", behindTime-1)
	}
	if delay.behind(now.Add(behindTime)) {
		t.Errorf("behind %s after the last longer wait", behindTime)
	}
}
