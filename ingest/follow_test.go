package ingest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestFollow: a file that does not exist yet, grows in pieces, is begun anew, and ends
// when its writer closes it.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		idle time.Duration
	}{{"until its writer is gone", 0}, {"until it is idle", 300 * time.Millisecond}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.idle == 0 && runtime.GOOS != "linux" {
				t.Skip("only Linux tells who has a file open")
			}
			path := filepath.Join(t.TempDir(), "out.json")
			got := make(chan string)
			go func() {
				f := Follow(t.Context(), path, tc.idle)
				defer f.Close()
				b, err := io.ReadAll(f)
				if err != nil {
					t.Error(err)
				}
				got <- string(b)
			}()
			time.Sleep(50 * time.Millisecond)
			w, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range []string{"one ", "two ", "three "} {
				if _, err = w.WriteString(piece); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if err = w.Truncate(0); err == nil {
				_, err = w.WriteAt([]byte("anew"), 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			select {
			case s := <-got:
				t.Fatalf("it ended while the file was open: %q", s)
			case <-time.After(100 * time.Millisecond):
			}
			w.Close()
			select {
			case s := <-got:
				if s != "one two three anew" {
					t.Errorf("%q", s)
				}
			case <-time.After(10 * time.Second):
				t.Error("it did not end")
			}
		})
	}
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := Follow(ctx, filepath.Join(t.TempDir(), "never"), 0)
	if b, err := io.ReadAll(f); err != nil || len(b) != 0 {
		t.Errorf("%q %v", b, err)
	}
}
