package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"
)

// postTool is the subcommand of the bare poster. It sends *.ndjson files in four bulk requests of 4 MiB at once, asks
// for the shortest reply, and checks only that Elasticsearch reports no errors. With -refresh it ends when the
// documents are searchable.
func postTool(ctx context.Context, args []string) error {
	const senders, size = 4, 4 << 20
	flags := flag.NewFlagSet("post", flag.ContinueOnError)
	url := flags.String("url", "", "of Elasticsearch")
	path := flags.String("path", "/_bulk?filter_path=errors", "of the requests")
	refresh := flags.String("refresh", "", "path of a last request, which makes the documents searchable")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
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
				n := cut(data, size)
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
	for range senders {
		g.Go(func() error {
			for body := range requests {
				if err := post(sending, client, *url+*path, body); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil || *refresh == "" {
		return err
	}
	return post(ctx, client, *url+*refresh, nil)
}

func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var reply struct{ Errors *bool }
	err = json.NewDecoder(res.Body).Decode(&reply)
	if err != nil || res.StatusCode != http.StatusOK ||
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
