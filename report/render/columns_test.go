package render

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
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

// TestTableParquet: the columns of a file are those of CSV, also where two have one name, and say which percentiles are
// lower bounds.
func TestTableParquet(t *testing.T) {
	t.Parallel()
	for option, want := range map[string][]map[string]string{
		"bs": {{"bs": "4k", "runs": "3", "p99_us": "5", "at_least": "p99"},
			{"bs": "8k", "runs": "3", "p99_us": "1", "at_least": "<null>"}},
		"runs": {{"runs": "4k", "runs_2": "3", "p99_us": "5", "at_least": "p99"},
			{"runs": "8k", "runs_2": "3", "p99_us": "1", "at_least": "<null>"}},
	} {
		var out bytes.Buffer
		if err := settings(option).Print(&out, Style{Format: "parquet", Unit: "auto"}); err != nil {
			t.Fatal(err)
		}
		file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		r := parquet.NewReader(file)
		rows := make([]parquet.Row, len(want)+1)
		n, err := r.ReadRows(rows)
		if n != len(want) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%s: %d rows, %v", option, n, err)
		}
		names := file.Schema().Columns()
		for i := range want {
			got := map[string]string{}
			for _, v := range rows[i] {
				got[names[v.Column()][0]] = v.String()
			}
			if !maps.Equal(got, want[i]) {
				t.Errorf("%s, row %d: %v, want %v", option, i, got, want[i])
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if last := names[len(names)-1]; !slices.Equal(last, []string{"at_least"}) {
			t.Errorf("%s: the last column is %v", option, last)
		}
	}
}
