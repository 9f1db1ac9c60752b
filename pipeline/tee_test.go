package pipeline

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// A caller is a sink that notes its calls, of which one fails.
type caller struct {
	calls []string
	fails string
}

var errCall = errors.New("a call fails")

func (c *caller) call(name string) error {
	if c.calls = append(c.calls, name); name == c.fails {
		return errCall
	}
	return nil
}

func (c *caller) Begin(context.Context, *Run) error         { return c.call("begin") }
func (c *caller) Interval(context.Context, *Interval) error { return c.call("interval") }
func (c *caller) Late(context.Context, *Interval) error     { return c.call("late") }
func (c *caller) Early(context.Context, *Interval) error    { return c.call("early") }
func (c *caller) End(context.Context, *Summary) error       { return c.call("end") }

// TestTee: every sink gets every call, and an error of one is that of the call; those after it do not get it.
func TestTee(t *testing.T) {
	t.Parallel()
	all := []string{"begin", "interval", "late", "early", "end"}
	for _, fails := range append(all, "") {
		first, second := &caller{fails: fails}, &caller{}
		tee := Tee{first, second}
		for i, err := range []error{tee.Begin(t.Context(), nil), tee.Interval(t.Context(), nil),
			tee.Late(t.Context(), nil), tee.Early(t.Context(), nil), tee.End(t.Context(), nil)} {
			if errors.Is(err, errCall) != (all[i] == fails) {
				t.Errorf("%s fails: %s returns %v", fails, all[i], err)
			}
		}
		left := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == fails })
		if !slices.Equal(first.calls, all) || !slices.Equal(second.calls, left) {
			t.Errorf("%s fails: %q and %q are called", fails, first.calls, second.calls)
		}
	}
}
