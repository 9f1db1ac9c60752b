package intervals

import "testing"

// TestAsk: a second's run whose hosts started five seconds apart is nothing to ask about.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		name             string
		intervals, usual int64
		asked            bool
	}{
		{"as long as usual", 20, 20, false},
		{"a short run, hosts seconds apart", 11, 1, false},
		{"a short run, hosts a minute apart", 101, 1, true},
		{"ten times as long", 200, 20, false},
		{"more than ten times as long", 201, 20, true},
	} {
		asked := 0
		allow := func(int64, int64) error { asked++; return nil }
		for range 2 {
			if err := CheckIntervals(&allow, c.intervals, func() int64 { return c.usual }); err != nil {
				t.Fatal(err)
			}
		}
		if asked > 1 || asked == 1 != c.asked {
			t.Errorf("%s: asked %d times", c.name, asked)
		}
	}
}
