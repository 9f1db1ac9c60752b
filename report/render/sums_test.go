package render

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"fiolat/fio"
)

func TestSumsLast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, by, in, want string // rows: offset, direction, host (- for none), I/Os
	}{
		{"reads and writes", "direction", "0 - - 5; 0 read - 2; 0 write - 3", "0 read -; 0 write -; 0 - -"},
		{"reads only", "direction", "0 - - 5; 0 read - 5; 1 - - 0; 1 read - 0", "0 read -; 1 read -"},
		{"writes begin later", "direction", "0 - - 5; 0 read - 5; 1 - - 7; 1 read - 5; 1 write - 2",
			"0 read -; 0 - -; 1 read -; 1 write -; 1 - -"},
		{"rows of a time before", "direction", "0 - - 5; 0 read - 5; 1 - - 7; 1 read - 5; 1 write - 2; 0 write - 0",
			"0 read -; 0 write -; 0 - -; 1 read -; 1 write -; 1 - -"},
		{"hosts, naturally", "host", "0 - - 9; 0 - h10 4; 0 - h2 5", "0 - h2; 0 - h10; 0 - -"},
		{"one host", "host,direction", "0 - - 9; 0 read - 4; 0 write - 5; 0 - h 9; 0 read h 4; 0 write h 5",
			"0 read h; 0 write h; 0 - h"},
		{"no host is known", "host", "0 - - 9; 0 - ? 9", "0 - -"},
		{"nothing to add up", "", "0 - - 9; 1 - - 9", "0 - -; 1 - -"},
	} {
		var rows []held
		by := strings.FieldsFunc(tt.by, func(r rune) bool { return r == ',' })
		for text := range strings.SplitSeq(tt.in, "; ") {
			var r held
			var direction, host string
			fmt.Sscan(text, &r.offset, &direction, &host, &r.samples)
			var scope []string
			if host != "-" {
				scope = append(scope, fio.ByHost)
			}
			if direction != "-" {
				scope, r.dims.Direction = append(scope, fio.ByDirection), direction
			}
			if r.dims.Host = strings.Trim(host, "-?"); len(scope) == 0 {
				scope = []string{fio.RunScope}
			}
			r.scope = strings.Join(scope, "+")
			rows = append(rows, r)
		}
		var got []string
		for _, r := range sumsLast(rows, by) {
			got = append(got, fmt.Sprint(r.offset, " ", cmp.Or(r.dims.Direction, "-"), " ", cmp.Or(r.dims.Host, "-")))
		}
		if strings.Join(got, "; ") != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, strings.Join(got, "; "), tt.want)
		}
	}
}
