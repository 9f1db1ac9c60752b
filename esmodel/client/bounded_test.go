package client

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"fiolat/internal/testkit"
)

// TestLongReason: of a foreign text 500 characters are shown, all of it only if asked for.
func TestLongReason(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":{"type":"x","reason":"`+strings.Repeat("ä", 5_000_000)+`"},"status":400}`)
	}))
	defer s.Close()
	for whole, most := range map[bool]int{false: 1200, true: maxReason + 100} {
		c, err := New(Config{Addresses: []string{s.URL}, MaxWait: -1, WholeReasons: whole})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Once(t.Context(), Request{Op: "ask", Method: "GET", Path: "/"})
		if err == nil || len(err.Error()) > most || len(err.Error()) < most/2 ||
			strings.HasSuffix(err.Error(), " characters more") == whole {
			t.Errorf("whole %v: %.100v... of %d bytes", whole, err, len(err.Error()))
		}
		_ = c.Close()
	}
}

func TestReadAtMost(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 50_000, 99_999, 100_000} {
		text := strings.Repeat("x", n)
		got, err := readAtMost(iotest.HalfReader(strings.NewReader(text)), 100_000)
		if err != nil || string(got) != text {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
	}
	if _, err := readAtMost(strings.NewReader(strings.Repeat("x", 100_001)), 100_000); !errors.Is(err, errLongReply) {
		t.Errorf("too long: %v", err)
	}
	if _, err := readAtMost(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("xy"))), 9); !errors.Is(err,
		iotest.ErrTimeout) {
		t.Errorf("broken: %v", err)
	}
}

// TestEndlessReplies: replies without end, each tried again, take no more memory together than one.
func TestEndlessReplies(t *testing.T) {
	testkit.NotRaced(t) // with the detector, pools drop at random
	const limit = 16 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 8 {
		if _, err := readAtMost(endless{}, limit); !errors.Is(err, errLongReply) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 2*limit {
		t.Errorf("8 replies took %d bytes, of which %d are read of each", took, limit)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return min(len(b), 64<<10), nil }
