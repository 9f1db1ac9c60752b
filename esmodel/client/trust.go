package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fiolat/fio"
)

// newTransport returns the standard transport with fiolat's limits and its own verification of certificates.
func newTransport(cfg Config) (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	chosen := 0
	if len(cfg.CACert) > 0 {
		chosen++
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(cfg.CACert) {
			return nil, &fio.UsageError{
				Msg:  "the CA certificate is not PEM",
				Hint: "it starts with -----BEGIN CERTIFICATE-----",
			}
		}
	}
	if cfg.Fingerprint != "" {
		chosen++
		want, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(cfg.Fingerprint), ":", ""))
		if err != nil || len(want) != sha256.Size {
			return nil, &fio.UsageError{
				Msg:  "the certificate fingerprint is not a hex SHA-256",
				Hint: "it has 64 hex digits, with or without colons",
			}
		}
		conf.InsecureSkipVerify = true // VerifyConnection verifies instead
		conf.VerifyConnection = func(s tls.ConnectionState) error {
			return pinned(s.PeerCertificates, want, time.Now())
		}
	}
	if cfg.Insecure {
		chosen++
		conf.InsecureSkipVerify = true
	}
	if chosen > 1 {
		return nil, &fio.UsageError{
			Msg:  "CA certificate, fingerprint and insecure mode are mutually exclusive",
			Hint: "pass one of them",
		}
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: dialer{
			timeout: ConnectWait / time.Duration(max(len(cfg.Addresses), 1)),
		}.dial,
		TLSClientConfig:       conf,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       30 * time.Second,
		ExpectContinueTimeout: time.Second,
	}, nil
}

type dialer struct {
	// timeout is the time for one connection attempt: a share of ConnectWait, so that all nodes are tried in that time.
	timeout time.Duration
}

func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := net.Dialer{Timeout: d.timeout, KeepAlive: 30 * time.Second}
	conn, err := dial.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return largeWrites{conn}, nil
}

// largeWrites is a connection that writes the body of a request in blocks of 256 KiB. The transport's blocks of
// 32 KiB wake the server more often, which costs processor time on both sides.
type largeWrites struct{ net.Conn }

// blocks are the unused blocks, as *[256 << 10]byte.
var blocks sync.Pool

// ReadFrom is called by the transport with the body.
func (c largeWrites) ReadFrom(r io.Reader) (int64, error) {
	block, ok := blocks.Get().(*[256 << 10]byte)
	if !ok {
		block = new([256 << 10]byte)
	}
	defer blocks.Put(block)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, struct{ io.Reader }{r}, block[:])
}

var errFingerprint = errors.New("no certificate of the server has the fingerprint given")

// pinned accepts a chain that the certificate with the given fingerprint vouches for: it is the server's own,
// or it signed the server's. That it is in the chain is not enough, because anybody can send a public
// certificate along. The host name is not compared: Elasticsearch makes its certificates before it knows its
// name, and the fingerprint identifies the server.
func pinned(chain []*x509.Certificate, want []byte, now time.Time) error {
	for i, c := range chain {
		if sum := sha256.Sum256(c.Raw); !bytes.Equal(sum[:], want) {
			continue
		}
		roots, between := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(c)
		for k, o := range chain {
			if k != 0 && k != i {
				between.AddCert(o)
			}
		}
		_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
		return err
	}
	return errFingerprint
}

// speaksTLS checks whether a node that was addressed with http and did not answer as Elasticsearch speaks TLS:
// Elasticsearch then just closes the connection. It sends nothing beyond the handshake. The error says what to
// do.
func (c *Client) speaksTLS(ctx context.Context, node *url.URL) error {
	if node.Scheme != "http" || c.spoken.Load() || ctx.Err() != nil {
		return nil
	}
	address := node.Host
	if node.Port() == "" {
		address = net.JoinHostPort(node.Hostname(), "80")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil // it does not
	}
	_ = conn.Close() // nothing was sent
	return &TrustError{Node: node.Host, Msg: "the server speaks TLS", Hint: "use https:// in the address"}
}

// trustError describes what is wrong with a TLS connection; nil if err is not about that.
func trustError(node string, err error) *TrustError {
	t := &TrustError{Node: node, Err: err}
	var (
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		network *net.OpError
		verify  *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, errFingerprint):
		t.Msg, t.Hint = errFingerprint.Error(), "someone may be intercepting the connection; compare with: openssl "+
			"x509 -fingerprint -sha256 -noout -in http_ca.crt"
	case errors.As(err, &host):
		t.Msg = fmt.Sprintf("the server's certificate is not for this host: %v", host)
		t.Hint = "someone may be intercepting the connection; use a name that is in the certificate, or pass " +
			"--es-fingerprint"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		t.Msg = fmt.Sprintf("the server's certificate is not valid at this time: it is for %v to %v",
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339), invalid.Cert.NotAfter.UTC().Format(time.RFC3339))
		t.Hint = "renew it, or set this machine's clock"
	case errors.As(err, &unknown):
		t.Msg = "the server's certificate is signed by an authority that is not trusted"
		t.Hint = "someone may be intercepting the connection; if not, pass --es-ca-cert FILE with the cluster's " +
			"http_ca.crt, or --es-fingerprint"
	case errors.As(err, &invalid), errors.As(err, &verify):
		t.Msg = fmt.Sprintf("the server's certificate cannot be trusted: %v", err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		t.Msg, t.Hint = "the server does not speak TLS", "use http:// in the address, or switch TLS on in the server"
	case errors.As(err, &network) && network.Op == "remote error":
		err = network // without the prefix that the transport may add
		fallthrough
	case err != nil && strings.HasPrefix(err.Error(), "tls: "):
		t.Msg, t.Hint = fmt.Sprintf(
			"no TLS connection: %v",
			err,
		), "fiolat speaks TLS 1.2 and 1.3, and does not send a client certificate"
	default:
		return nil
	}
	return t
}
