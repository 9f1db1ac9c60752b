package curve

import (
	"fmt"
	"strconv"
)

// Sentence formats an At as text.
func (c *Curve) Sentence(at *At) string {
	text := at.Rule
	if len(at.Options) > 0 {
		text = label(at.Options) + ": " + text
	}
	if at.IOPS == nil && at.best != nil {
		text += fmt.Sprintf(": at least %s IOPS (%s)", rounded(at.best.IOPS), c.LoadOf(at.best))
		if len(at.Between) == 2 {
			next := &c.Points[at.Between[1]]
			text += fmt.Sprintf("; broken at %s (%s)", rounded(next.IOPS), c.LoadOf(next))
		}
		if at.Note != "" {
			text += "; " + at.Note
		}
		return text + "; no estimate without repeats: run each setting 3 times"
	}
	if at.IOPS == nil {
		text += ": " + at.Note
		if at.High != nil {
			text += fmt.Sprintf("; fewer than %s IOPS", rounded(*at.High))
		}
		return text
	}
	text += fmt.Sprintf(": %s IOPS", rounded(*at.IOPS))
	switch {
	case at.Low != nil && at.High != nil:
		text += fmt.Sprintf(" (95 %% limits %s to %s)", rounded(*at.Low), rounded(*at.High))
	case at.Low != nil:
		text += fmt.Sprintf(" (95 %% limits from %s, no upper one)", rounded(*at.Low))
	case at.High != nil:
		text += fmt.Sprintf(" (95 %% limits up to %s, no lower one)", rounded(*at.High))
	}
	if len(at.Between) == 2 {
		text += fmt.Sprintf(", between %s and %s", c.LoadOf(&c.Points[at.Between[0]]),
			c.LoadOf(&c.Points[at.Between[1]]))
	}
	if at.Note != "" {
		text += "; " + at.Note
	}
	return text
}

// LoadOf names the load of a point.
func (c *Curve) LoadOf(p *Point) string {
	options := map[string]string{}
	for _, name := range c.Load {
		options[name] = p.Options[name]
	}
	return label(options)
}

func rounded(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
