package again

import "testing"

func TestStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{200: false, 301: false, 400: false, 401: false, 403: false, 404: false,
		408: true, 409: false, 425: true, 429: true, 500: true, 501: false, 502: true, 503: true, 504: true,
		505: false} {
		if got := Status(code); got != want {
			t.Errorf("%d: %v, want %v", code, got, want)
		}
	}
}
