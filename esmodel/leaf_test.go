package esmodel

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// leafText is the document of a leaf of a host.
func leafText(host string) string {
	var index, count []string
	for i := range 240 {
		index = append(index, strconv.Itoa(700+i))
		count = append(count, strconv.FormatFloat(float64(i+1)/7, 'g', -1, 64))
	}
	return `{"@timestamp":"2026-08-01T00:00:01.000Z","run":{"id":"S","name":"a \"b\"","generation":"g","part":"p"},` +
		`"labels":{"a":"}"},"interval":{"ms":1000,"offset_ms":1000},"scope":"leaf","host":{"name":"` + host +
		`"},"fio":{"kind":"clat","direction":"read"},"logs":{"count":1},"samples":4.1,"_doc_count":4,"latency":{` +
		`"histogram":{"values":[` + strings.Join(index, ",") + `],"counts":[` + strings.Join(index, ",") +
		`]},"octave":{"e17":3},"limits":{"min":1,"max":2},"buckets":{"groups":29,"coarseness":0,"unit_ns":1,` +
		`"logs":[0,3],"index":[` + strings.Join(index, ",") + `],"count":[` + strings.Join(count, ",") + `]}}}`
}

// What is read of a leaf is what encoding/json reads, whatever the names and the spaces.
func TestReadLeaf(t *testing.T) {
	t.Parallel()
	plain := leafText("h")
	for _, text := range []string{plain, leafText(`a\"\u00e9`), leafText("é"), strings.ReplaceAll(plain, ",", " ,\n"),
		strings.Replace(plain, `"unit_ns":1`, `"unit_ns":1e0`, 1), `{}`, `{"latency":{"buckets":null}}`, `[]`} {
		var want leafDoc
		err := json.Unmarshal([]byte(text), &want)
		got, bad := readLeaf([]byte(text))
		if (err == nil) != (bad == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%.100s: %+v, %v; want %+v, %v", text, got, bad, want, err)
		}
	}
}

func BenchmarkReadLeaf(b *testing.B) {
	text := []byte(leafText("h"))
	b.SetBytes(int64(len(text)))
	for name, read := range map[string]func() error{
		"scan": func() error { _, err := readLeaf(text); return err },
		"json": func() error { var doc leafDoc; return json.Unmarshal(text, &doc) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
