package runsource

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/ui"
)

// Elasticsearch says where documents are or go, with which credentials and certificates. Secrets are in files or in
// the environment.
type Elasticsearch struct {
	Addresses []string // URLs of nodes; none: no Elasticsearch
	Given     bool     // by a flag, not only by the environment
	Prefix    string   // of the indices
	// Spool is the directory for what could not be sent or was refused, and for all documents where there are no
	// addresses.
	Spool string

	User         string
	PasswordFile string // else ELASTICSEARCH_PASSWORD, ES_PASSWORD; without a User neither is used
	APIKeyFile   string // else ELASTICSEARCH_API_KEY; ES_API_KEY without other credentials
	CACertFile   string // PEM, instead of the system's authorities
	Fingerprint  string // SHA-256, hexadecimal
	Insecure     bool
	MaxWait      time.Duration // for how long a request is retried
	MaxWaitGiven bool          // MaxWait even if no node has ever answered, else client.ConnectWait

	// Flags returns the command-line flags for these settings, for the command that finishes the work.
	Flags func() []string
}

// ReadSecret returns the content of a file, or without a file the variable env. flag is the flag that named the file.
func ReadSecret(flag, file, env string, bad *fio.Faults) string {
	if file == "" {
		return os.Getenv(env)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		bad.Add(fio.Usagef("--%s: %v", flag, err))
	}
	return strings.TrimSpace(string(b))
}

// Config returns the configuration of a client, with the secrets.
func (o *Elasticsearch) Config() (client.Config, error) {
	cfg := client.Config{Addresses: o.Addresses, Username: o.User, Fingerprint: o.Fingerprint, Insecure: o.Insecure,
		MaxWait: cmp.Or(o.MaxWait, -1)} // 0 would be the client's default
	if !o.MaxWaitGiven {
		cfg.MaxUnreached = client.ConnectWait
	}
	var bad fio.Faults
	cfg.Password = ReadSecret("es-password-file", o.PasswordFile, "ELASTICSEARCH_PASSWORD", &bad)
	cfg.APIKey = ReadSecret("es-api-key-file", o.APIKeyFile, "ELASTICSEARCH_API_KEY", &bad)
	cfg.ServiceToken = os.Getenv("ELASTICSEARCH_SERVICE_TOKEN")
	if cfg.Username == "" && cfg.APIKey == "" && cfg.ServiceToken == "" &&
		!slices.ContainsFunc(o.Addresses, namesUser) {
		// As Elastic's tools name them.
		cfg.Username, cfg.APIKey = os.Getenv("ES_USERNAME"), os.Getenv("ES_API_KEY")
	}
	if cfg.Username == "" {
		cfg.Password = "" // from an environment meant for something else
	} else if o.PasswordFile == "" {
		cfg.Password = cmp.Or(cfg.Password, os.Getenv("ES_PASSWORD"))
	}
	if o.CACertFile != "" {
		var err error
		if cfg.CACert, err = os.ReadFile(o.CACertFile); err != nil {
			bad.Add(fio.Usagef("--es-ca-cert: %v", err))
		}
	}
	bad.Add(setPace(&cfg, os.Getenv("FIOLAT_ES_PACE")))
	return cfg, bad.Err()
}

// namesUser reports whether an address has a user in it.
func namesUser(address string) bool {
	u, err := url.Parse(strings.TrimSpace(address))
	return err == nil && u.User != nil
}

// setPace reads FIOLAT_ES_PACE, such as "timeout=20s flush=131072", by which tests do in seconds what takes minutes.
func setPace(cfg *client.Config, text string) (err error) {
	for _, word := range strings.Fields(text) {
		key, v, _ := strings.Cut(word, "=")
		switch key {
		case "timeout":
			cfg.Timeout, err = time.ParseDuration(v)
		case "flush":
			cfg.FlushBytes, err = strconv.Atoi(v)
		default:
			err = errors.New("want timeout= and flush=")
		}
		if err != nil {
			return fio.Usagef("FIOLAT_ES_PACE: %q: %v", word, err)
		}
	}
	return nil
}

// Connect makes a client, which prints its warnings and what it waits for.
func (o *Elasticsearch) Connect(u *ui.UI) (*client.Client, error) {
	cfg, err := o.Config()
	if err == nil && len(cfg.Addresses) == 0 {
		err = fio.Usagef("no Elasticsearch: pass --es URL or set ELASTICSEARCH_URL")
	}
	if err != nil {
		return nil, err
	}
	cfg.OnWait = func(w client.Wait) {
		u.Say("warning", "%s: %v; trying again in %v, for %v at most", w.Op, w.Err, w.Next.Round(100*time.Millisecond),
			w.Left.Round(time.Second))
	}
	cfg.WholeReasons = u.Verbose
	client, err := client.New(cfg)
	if err != nil {
		return nil, err
	}
	for _, w := range client.Warnings {
		u.Warn(w)
	}
	return client, nil
}

// Find connects, and finds the run with that id or name. Close the client when done.
func (o *Elasticsearch) Find(ctx context.Context, u *ui.UI, name string) (*client.Client, *stored.RunSummary, error) {
	c, err := o.Connect(u)
	if err != nil {
		return nil, nil, err
	}
	run, err := stored.FindRun(ctx, c, o.Prefix, name)
	if err != nil {
		_ = c.Close() // what failed is err
	}
	return c, run, err
}
