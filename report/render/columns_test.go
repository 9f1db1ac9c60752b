package render

import (
	"strings"
	"testing"
)

// setting is a row whose options anybody may have named.
type setting struct {
	option string
	p99    Cell
}

func settings(option string) *Table[setting] {
	t := &Table[setting]{Rows: []setting{{"4k", Cell{Number: 5000, AtLeast: true}}, {"8k", Cell{Number: 1000}}}}
	t.Text(option, func(s *setting) string { return s.option })
	t.Number("runs", func(*setting) Cell { return Cell{Number: 3} })
	t.Latency("p99", func(s *setting) Cell { return s.p99 })
	return t
}

// TestTableHead: a column may have anybody's name, as may a cell.
func TestTableHead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, format, want string }{
		{"\x1b[31mx", "table", `\x1b[31mx  runs   p99_us`},
		{"\x1b[31mx", "markdown", `| \\x1b[31mx | runs | p99_us |`},
		{"\x1b[31mx", "csv", `\x1b[31mx,runs,p99_us`},
		{"=a", "csv", `'=a,runs,p99_us`},
		{"=a", "table", `=a  runs   p99_us`},
	} {
		var out strings.Builder
		if err := settings(tt.name).Print(&out, Style{Format: tt.format, Unit: "us"}); err != nil {
			t.Error(err)
		}
		if got, _, _ := strings.Cut(out.String(), "\n"); got != tt.want {
			t.Errorf("%s: the head is %q, want %q", tt.format, got, tt.want)
		}
	}
}
