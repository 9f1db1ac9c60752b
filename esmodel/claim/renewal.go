package claim

import "time"

// Times are those of the renewal and the observation of claims. They follow from Renew, which must be the same for all
// processes that write the same runs.
type Times struct {
	Renew  time.Duration // between two renewals
	Retry  time.Duration // after a renewal that failed
	Stale  time.Duration // without a renewal the owner sends nothing
	Expiry time.Duration // without a renewal others take the claim over
	Poll   time.Duration // between two checks of another's claim
}

// TimesOf returns the times for client.Config.Renew.
func TimesOf(renew time.Duration) Times {
	return Times{Renew: renew, Retry: renew / 5, Stale: 3 * renew, Expiry: 6 * renew, Poll: renew / 10}
}

const claimLinger = 2 * time.Second // wait for the reply to a claim when interrupted
