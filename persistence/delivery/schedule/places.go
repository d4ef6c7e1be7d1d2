package schedule

// places returns how many deliveries of the subscription may become pending, or a number below one. A subscription gets
// few pending deliveries until it responds, then more with each response. Thus a hanging receiver never has many.
func (l Limits) places(s *Subscription) int {
	if s.prompt() {
		return min(l.Quick, l.Unproven+s.Responses+s.Prompt*(l.PromptGrowth-1)) - s.Pending
	}
	places := min(l.Slow, l.Unproven+s.Responses) - s.Pending
	if !s.Quick {
		places = min(places, l.pace(s))
	}
	return places
}

// pace returns how many deliveries a slow subscription may get now. A large batch would time out and retry together.
func (l Limits) pace(s *Subscription) int {
	return max(0, l.SlowPace-s.Young+s.Responses/2)
}
