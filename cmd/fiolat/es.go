package main

import (
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
)

const catES = "ELASTICSEARCH"

// esFlags are those of all commands that talk to Elasticsearch. Secrets come from
// files or the environment only: arguments can be read by everybody on the host.
func esFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "es", Category: catES, Usage: "`URL` of a node of the cluster (default: ELASTICSEARCH_URL); may be repeated"},
		&cli.StringFlag{Name: "index-prefix", Category: catES, Value: esmodel.DefaultPrefix, EnvVars: []string{"FIOLAT_INDEX_PREFIX"}, Usage: "`PREFIX` of the indices"},
		&cli.StringFlag{Name: "es-user", Category: catES, EnvVars: []string{"ELASTICSEARCH_USERNAME"}, Usage: "user `NAME`; the password comes from --es-password-file or ELASTICSEARCH_PASSWORD"},
		&cli.StringFlag{Name: "es-password-file", Category: catES, Usage: "`FILE` that holds the password"},
		&cli.StringFlag{Name: "es-api-key-file", Category: catES, Usage: "`FILE` that holds an API key, encoded (or ELASTICSEARCH_API_KEY)"},
		&cli.StringFlag{Name: "es-service-token-file", Category: catES, Usage: "`FILE` that holds a service token (or ELASTICSEARCH_SERVICE_TOKEN)"},
		&cli.StringFlag{Name: "es-ca-cert", Category: catES, EnvVars: []string{"ELASTICSEARCH_CA_CERT"}, Usage: "PEM `FILE` of the authorities to trust instead of the system's"},
		&cli.StringFlag{Name: "es-fingerprint", Category: catES, EnvVars: []string{"ELASTICSEARCH_FINGERPRINT"}, Usage: "SHA-256 of the server's certificate or its authority, in `HEX`"},
		&cli.BoolFlag{Name: "es-insecure", Category: catES, Usage: "accept any certificate: whoever is in between reads and changes everything"},
		&cli.DurationFlag{Name: "max-wait", Category: catES, Value: esmodel.DefaultMaxWait, Usage: "how long to try again what fails for reasons that may pass: `DURATION`"},
	}
}

// takeOverFlag is for commands that write or delete documents of a run.
func takeOverFlag() cli.Flag {
	return &cli.BoolFlag{Name: "take-over", Category: catES, Usage: "take the run from another fiolat that has claimed it, at once; end that one first (default: once it has ended, or has not renewed its claim for a minute)"}
}

// addresses are the cluster's, none if no Elasticsearch was given.
func addresses(c *cli.Context) ([]string, error) {
	given := c.StringSlice("es")
	for _, a := range given {
		if u, err := url.Parse(a); err == nil && u.User != nil {
			if _, secret := u.User.Password(); secret {
				return nil, usagef("--es: a password in an argument can be read by everybody on this host; use --es-user and --es-password-file, or ELASTICSEARCH_URL")
			}
		}
	}
	if len(given) == 0 && os.Getenv("ELASTICSEARCH_URL") != "" {
		given = strings.Split(os.Getenv("ELASTICSEARCH_URL"), ",")
	}
	return given, nil
}

// readSecret is what the file of a flag holds, else the environment.
func readSecret(c *cli.Context, flag, env string, bad *faults) string {
	file := c.String(flag)
	if file == "" {
		return os.Getenv(env)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		bad.add(usagef("--%s: %v", flag, err))
	}
	return strings.TrimSpace(string(b))
}

// esConfig is what the flags say of Elasticsearch; without an address if none does.
func esConfig(c *cli.Context) (esmodel.Config, error) {
	cfg := esmodel.Config{Username: c.String("es-user"), Fingerprint: c.String("es-fingerprint"), Insecure: c.Bool("es-insecure"), MaxWait: c.Duration("max-wait")}
	if cfg.MaxWait == 0 {
		cfg.MaxWait = -1 // the package's 0 is its default
	}
	var bad faults
	var err error
	cfg.Addresses, err = addresses(c)
	bad.add(err)
	cfg.Password = readSecret(c, "es-password-file", "ELASTICSEARCH_PASSWORD", &bad)
	cfg.APIKey = readSecret(c, "es-api-key-file", "ELASTICSEARCH_API_KEY", &bad)
	cfg.ServiceToken = readSecret(c, "es-service-token-file", "ELASTICSEARCH_SERVICE_TOKEN", &bad)
	if cfg.Username == "" {
		cfg.Password = "" // of an environment meant for something else
	}
	if file := c.String("es-ca-cert"); file != "" {
		if cfg.CACert, err = os.ReadFile(file); err != nil {
			bad.add(usagef("--es-ca-cert: %v", err))
		}
	}
	return cfg, bad.err()
}

// client connects as the flags say.
func (u *ui) client(c *cli.Context) (*esmodel.Client, error) {
	cfg, err := esConfig(c)
	if err == nil && len(cfg.Addresses) == 0 {
		err = usagef("no Elasticsearch: pass --es URL or set ELASTICSEARCH_URL")
	}
	if err != nil {
		return nil, err
	}
	cfg.OnWait = func(w esmodel.Wait) {
		u.say("warning", "%s: %v; trying again in %v, for %v at most", w.Op, w.Err, w.Next.Round(100*time.Millisecond), w.Left.Round(time.Second))
	}
	client, err := esmodel.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	for _, w := range client.Warnings {
		u.warn(w)
	}
	return client, nil
}
