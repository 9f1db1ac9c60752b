package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"
)

// postTool is the subcommand of the bare poster. It sends *.ndjson files in concurrent bulk requests, asks for the
// shortest reply, and checks only that Elasticsearch reports no errors. With -refresh it ends when the documents are
// searchable.
func postTool(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("post", flag.ContinueOnError)
	url := flags.String("url", "", "of Elasticsearch")
	size := flags.Int("bytes", 4<<20, "of a request")
	senders := flags.Int("senders", 4, "requests at once")
	path := flags.String("path", "/_bulk?filter_path=errors", "of the requests")
	level := flags.Int("gzip", 0, "level, 0 is none")
	refresh := flags.String("refresh", "", "path of a last request, which makes the documents searchable")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *senders}}
	requests := make(chan []byte)
	g, sending := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(requests)
		for _, name := range flags.Args() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for len(data) > 0 {
				n := cut(data, *size)
				select {
				case requests <- data[:n]:
				case <-sending.Done():
					return context.Cause(sending)
				}
				data = data[n:]
			}
		}
		return nil
	})
	for range *senders {
		g.Go(func() error {
			var buf bytes.Buffer
			var zw *gzip.Writer
			if *level > 0 {
				var err error
				if zw, err = gzip.NewWriterLevel(io.Discard, *level); err != nil {
					return err
				}
			}
			for body := range requests {
				if zw != nil {
					buf.Reset()
					zw.Reset(&buf)
					_, err := zw.Write(body)
					if err = errors.Join(err, zw.Close()); err != nil {
						return err
					}
					body = buf.Bytes()
				}
				if err := post(sending, client, *url+*path, body, zw != nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil || *refresh == "" {
		return err
	}
	return post(ctx, client, *url+*refresh, nil, false)
}

func post(ctx context.Context, client *http.Client, url string, body []byte, zipped bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	if zipped {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var reply struct{ Errors *bool }
	if err = json.NewDecoder(res.Body).Decode(&reply); err != nil || res.StatusCode != http.StatusOK ||
		(reply.Errors != nil && *reply.Errors) {
		return fmt.Errorf("reply %s, errors %v: %w", res.Status, reply.Errors, err)
	}
	_, err = io.Copy(io.Discard, res.Body) // to the end, so that the connection is reused
	return err
}

// cut returns the length of a request: as many pairs of lines as fit into size, but at least one.
func cut(data []byte, size int) (n int) {
	for n < len(data) {
		pair := n
		for range 2 {
			pair += bytes.IndexByte(data[pair:], '\n') + 1
		}
		if n > 0 && pair > size {
			return n
		}
		n = pair
	}
	return n
}
