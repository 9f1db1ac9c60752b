package client

import "net/http"

// HTTPClient returns a client for a server other than Elasticsearch that is trusted in the same way: it uses
// CACert, Fingerprint, Insecure and Timeout of cfg. It follows no redirects, so that credentials go nowhere
// else.
func HTTPClient(cfg Config) (*http.Client, error) {
	tr, err := newTransport(cfg)
	if err != nil {
		return nil, err
	}
	c := &http.Client{
		Transport:     tr,
		Timeout:       cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	return c, nil
}

// Trust returns what is wrong with a TLS connection; nil if err is not about that.
func Trust(err error) *TrustError { return trustError("", err) }
