package main

import (
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command/setup"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

const catKibana = "KIBANA"

func setupCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name: "setup",
		Usage: "index templates and, where the cluster has it, a lifecycle policy; dashboards for Kibana; " +
			"repeating it changes nothing",
		Description: "fiolat setup --es http://localhost:9200 --kibana http://localhost:5601\n" +
			"fiolat setup --es https://es:9200 --es-user admin --es-password-file ~/.es --delete-after 8760h\n" +
			"fiolat setup --kibana http://localhost:5601 --alert-rules    # rules for SLA breaches and for " +
			"trouble of the probe\n" +
			"fiolat setup --kibana http://localhost:5601 --remove    # take out of Kibana what setup put there\n" +
			"fiolat setup --export fiolat.ndjson    # to import by hand; needs no server",
		Flags: append(esFlags(),
			&cli.DurationFlag{Name: "delete-after", Category: catES, Usage: "let the lifecycle policy delete indices " +
				"after `DURATION` (default: never)"},
			&cli.DurationFlag{Name: "rollup-after", Category: catES, Usage: "print a line for cron that rolls up " +
				"runs older than `DURATION` to quanta of a minute, and do nothing else: fiolat schedules " +
				"nothing itself"},
			&cli.StringFlag{Name: "kibana", Category: catKibana, Usage: "`URL` of Kibana, with its base path: import " +
				"data views, charts and dashboards (default: KIBANA_URL). Certificates and credentials are those " +
				"for Elasticsearch unless given here"},
			&cli.StringFlag{Name: "space", Category: catKibana, EnvVars: []string{"KIBANA_SPACE"},
				Usage: "`ID` of the space to import into (default: the default space)"},
			&cli.BoolFlag{Name: "alert-rules", Category: catKibana, Usage: "also create Kibana alerting rules, " +
				"without connectors, for SLA breaches and for trouble that the probe finds; existing ones are kept"},
			&cli.BoolFlag{Name: "remove", Category: catKibana, Usage: "remove from the space all objects and " +
				"alerting rules that this or an earlier version of setup created, and do nothing else"},
			&cli.StringFlag{Name: "export", Category: catKibana, Usage: "write what would be imported to " +
				"`FILE`.ndjson, or to standard output (-), and do nothing else"},
			&cli.StringFlag{Name: "kibana-user", Category: catKibana, EnvVars: []string{"KIBANA_USERNAME"},
				Usage: "user `NAME`; the password comes from --kibana-password-file or KIBANA_PASSWORD"},
			&cli.StringFlag{Name: "kibana-password-file", Category: catKibana, Usage: "`FILE` that holds the password"},
			&cli.StringFlag{Name: "kibana-api-key-file", Category: catKibana,
				Usage: "`FILE` that holds an API key, encoded (or KIBANA_API_KEY)"},
			&cli.StringFlag{Name: "kibana-ca-cert", Category: catKibana, EnvVars: []string{"KIBANA_CA_CERT"},
				Usage: "PEM `FILE` of certificate authorities to trust instead of the system's"},
		),
		Action: action(u, readSetupOptions, setup.Run),
	}
}

func readSetupOptions(c *cli.Context) (o setup.Options, err error) {
	if c.NArg() > 0 {
		return o, errs.Usagef("fiolat setup takes no arguments: %q", c.Args().First())
	}
	o = setup.Options{
		DeleteAfter: c.Duration("delete-after"), Export: c.String("export"),
		Remove: c.Bool("remove"), AlertRules: c.Bool("alert-rules"), Space: c.String("space"),
		KibanaUser: c.String("kibana-user"), KibanaPasswordFile: c.String("kibana-password-file"),
		KibanaAPIKeyFile: c.String("kibana-api-key-file"), KibanaCACertFile: c.String("kibana-ca-cert"),
	}
	if o.RollUpAfter = c.Duration("rollup-after"); c.IsSet("rollup-after") &&
		(o.RollUpAfter < time.Hour || o.RollUpAfter%time.Hour != 0) {
		return o, errs.Usagef("--rollup-after %v: want a whole number of hours", o.RollUpAfter)
	}
	if d := o.DeleteAfter; d < 0 || d > 0 && d < time.Hour {
		return o, errs.Usagef("--delete-after %v: want an hour or more", d)
	}
	if o.Elasticsearch, err = esOptions(c); err != nil {
		return o, err
	}
	if c.IsSet("export") {
		for _, f := range []string{"es", "kibana"} {
			if c.IsSet(f) {
				return o, errs.Usagef("--export asks no server: not together with --%s", f)
			}
		}
		if o.Export != "-" && !strings.HasSuffix(o.Export, ".ndjson") {
			return o, errs.Usagef("--export %s: Kibana imports only files whose names end in .ndjson", o.Export)
		}
		return o, nil
	}
	if o.Kibana, err = kibanaURL(c.String("kibana")); err != nil {
		return o, err
	}
	for _, f := range []string{"space", "alert-rules", "remove"} {
		if o.Kibana == "" && c.IsSet(f) {
			return o, errs.Usagef("--%s is about Kibana: pass --kibana URL or set KIBANA_URL", f)
		}
	}
	for _, f := range []string{"es", "alert-rules", "delete-after"} {
		if o.Remove && c.IsSet(f) {
			return o, errs.Usagef("--remove only takes out of Kibana what is there: not together with --%s", f)
		}
	}
	return o, nil
}

// kibanaURL returns the URL of Kibana, "" if none is given.
func kibanaURL(given string) (string, error) {
	if u, err := url.Parse(given); err == nil && u.User != nil {
		if _, secret := u.User.Password(); secret {
			return "", errs.Usagef("--kibana: a password in an argument can be read by everybody on this host; use " +
				"--kibana-user and --kibana-password-file, or KIBANA_URL")
		}
	}
	if given == "" {
		given = os.Getenv("KIBANA_URL")
	}
	return given, nil
}
