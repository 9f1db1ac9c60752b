package main

import (
	"cmp"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/fio"
	"fiolat/internal/runsource"
)

const catES = "ELASTICSEARCH"

// esFlags returns the flags of the commands that use Elasticsearch. Secrets come from
// files or the environment only: every user of the host can read arguments.
func esFlags(o *runsource.Elasticsearch) []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "es",
			Usage: "`URL` of Elasticsearch (default: ELASTICSEARCH_URL)"},
		&cli.StringFlag{Name: "index-prefix", Category: catES, Destination: &o.Prefix, Value: esmodel.DefaultPrefix,
			EnvVars: []string{"FIOLAT_INDEX_PREFIX"},
			Usage:   "`PREFIX` of the indices"},
		&cli.StringFlag{Name: "es-user", Category: catES, Destination: &o.User,
			EnvVars: []string{"ELASTICSEARCH_USERNAME"},
			Usage:   "user `NAME`; the password comes from --es-password-file or ELASTICSEARCH_PASSWORD"},
		&cli.StringFlag{Name: "es-password-file", Category: catES, Destination: &o.PasswordFile,
			Usage: "`FILE` that holds the password"},
		&cli.StringFlag{Name: "es-api-key-file", Category: catES, Destination: &o.APIKeyFile,
			Usage: "`FILE` that holds an API key, encoded (or ELASTICSEARCH_API_KEY)"},
		&cli.StringFlag{Name: "es-ca-cert", Category: catES, Destination: &o.CACertFile,
			EnvVars: []string{"ELASTICSEARCH_CA_CERT"},
			Usage:   "PEM `FILE` of certificate authorities to trust instead of the system's"},
		&cli.StringFlag{Name: "es-fingerprint", Category: catES, Destination: &o.Fingerprint,
			EnvVars: []string{"ELASTICSEARCH_FINGERPRINT"},
			Usage:   "SHA-256 of the server's certificate or its authority, in `HEX`"},
		&cli.BoolFlag{Name: "es-insecure", Category: catES, Destination: &o.Insecure,
			Usage: "accept any certificate: anyone on the path can read and change all data"},
		&cli.DurationFlag{Name: "max-wait", Category: catES, Destination: &o.MaxWait, Value: client.DefaultMaxWait,
			Usage: "retry temporary failures for `DURATION`; unless given, 10s if no node answers at the start"},
	}
}

// checkES completes what esFlags and outputFlag set.
func checkES(c *cli.Context, o *runsource.Elasticsearch, bad *fio.Faults) {
	o.Given, o.MaxWaitGiven = c.IsSet("es"), c.IsSet("max-wait")
	o.Spool = c.String("output")
	o.Flags = func() []string { return esWords(c) }
	o.Addresses = c.StringSlice("es")
	for _, a := range o.Addresses {
		if u, err := url.Parse(a); err == nil && u.User != nil {
			if _, secret := u.User.Password(); secret {
				bad.Add(fio.Usagef("--es: a password in an argument can be read by everybody on this host; use " +
					"--es-user and --es-password-file, or ELASTICSEARCH_URL"))
			}
		}
	}
	if env := cmp.Or(os.Getenv("ELASTICSEARCH_URL"), os.Getenv("ES_URL")); len(o.Addresses) == 0 && env != "" {
		o.Addresses = strings.Split(env, ",")
	}
	bad.Add(esmodel.CheckPrefix(o.Prefix))
}

// esWords returns the esFlags that are set, as arguments, but for --max-wait.
func esWords(c *cli.Context) (words []string) {
	for _, f := range esFlags(new(runsource.Elasticsearch)) {
		name := f.Names()[0]
		if !c.IsSet(name) {
			continue
		}
		switch f.(type) {
		case *cli.BoolFlag:
			words = append(words, "--"+name+"="+strconv.FormatBool(c.Bool(name)))
		case *cli.StringFlag:
			words = append(words, "--"+name, c.String(name))
		case *cli.StringSliceFlag:
			for _, v := range c.StringSlice(name) {
				words = append(words, "--"+name, v)
			}
		}
	}
	return words
}

// yesFlag is for commands that make rows or documents for each interval of a run.
func yesFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "yes", Destination: to, Usage: "do not ask when a run covers more than ten " +
		"times its own length, as with a host's wrong clock"}
}
