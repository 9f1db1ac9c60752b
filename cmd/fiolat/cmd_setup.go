package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/kibana"
)

const catKibana = "KIBANA"

func setupCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:  "setup",
		Usage: "index templates and, where the cluster has it, a lifecycle policy; dashboards for Kibana; again changes nothing",
		Description: "fiolat setup --es http://localhost:9200 --kibana http://localhost:5601\n" +
			"fiolat setup --es https://es:9200 --es-user admin --es-password-file ~/.es --delete-after 8760h\n" +
			"fiolat setup --kibana http://localhost:5601 --alert-rules    # rules for broken promises and for trouble of the probe\n" +
			"fiolat setup --kibana http://localhost:5601 --remove    # take out of Kibana what setup put there\n" +
			"fiolat setup --export fiolat.ndjson    # to import by hand; needs no server",
		Flags: append(esFlags(),
			&cli.DurationFlag{Name: "delete-after", Category: catES, Usage: "let the lifecycle policy delete indices of that age: `DURATION` (default: never)"},
			&cli.StringFlag{Name: "kibana", Category: catKibana, Usage: "`URL` of Kibana, with its base path: import data views, charts and dashboards (default: KIBANA_URL). Whom to trust and who we are is as for Elasticsearch, unless said here"},
			&cli.StringFlag{Name: "space", Category: catKibana, EnvVars: []string{"KIBANA_SPACE"}, Usage: "`ID` of the space to import into (default: the default space)"},
			&cli.BoolFlag{Name: "alert-rules", Category: catKibana, Usage: "also make rules of Kibana's alerting for broken promises and for trouble that the probe finds, without connectors; those that are there stay as they are"},
			&cli.BoolFlag{Name: "remove", Category: catKibana, Usage: "remove from the space what setup put there, of this version and of earlier ones, with the alert rules, and do nothing else; Elasticsearch is left alone"},
			&cli.StringFlag{Name: "export", Category: catKibana, Usage: "write what would be imported to `FILE`.ndjson, or to standard output (-), and do nothing else"},
			&cli.StringFlag{Name: "kibana-user", Category: catKibana, EnvVars: []string{"KIBANA_USERNAME"}, Usage: "user `NAME`; the password comes from --kibana-password-file or KIBANA_PASSWORD"},
			&cli.StringFlag{Name: "kibana-password-file", Category: catKibana, Usage: "`FILE` that holds the password"},
			&cli.StringFlag{Name: "kibana-api-key-file", Category: catKibana, Usage: "`FILE` that holds an API key, encoded (or KIBANA_API_KEY)"},
			&cli.StringFlag{Name: "kibana-ca-cert", Category: catKibana, EnvVars: []string{"KIBANA_CA_CERT"}, Usage: "PEM `FILE` of the authorities to trust instead of the system's"},
		),
		Action: action(u, readSetupOptions, setup),
	}
}

// setupOptions are what fiolat setup is asked for.
type setupOptions struct {
	Elasticsearch Elasticsearch
	DeleteAfter   time.Duration // the age at which indices are deleted; 0: never
	Export        string        // a file for Kibana's objects, "-" for standard output: nothing else is done
	Remove        bool          // only takes out of Kibana what setup has put there
	AlertRules    bool          // makes alert rules in Kibana

	Kibana             string // its URL; "": nothing is imported
	Space              string // "": the default space
	KibanaUser         string // without user and key, who asks is as for Elasticsearch
	KibanaPasswordFile string // else KIBANA_PASSWORD
	KibanaAPIKeyFile   string // else KIBANA_API_KEY
	KibanaCACertFile   string // PEM, instead of whom Elasticsearch's flags trust
}

func readSetupOptions(c *cli.Context) (o setupOptions, err error) {
	if c.NArg() > 0 {
		return o, usagef("fiolat setup takes no arguments: %q", c.Args().First())
	}
	o = setupOptions{
		DeleteAfter: c.Duration("delete-after"), Export: c.String("export"),
		Remove: c.Bool("remove"), AlertRules: c.Bool("alert-rules"), Space: c.String("space"),
		KibanaUser: c.String("kibana-user"), KibanaPasswordFile: c.String("kibana-password-file"),
		KibanaAPIKeyFile: c.String("kibana-api-key-file"), KibanaCACertFile: c.String("kibana-ca-cert"),
	}
	if d := o.DeleteAfter; d < 0 || d > 0 && d < time.Hour {
		return o, usagef("--delete-after %v: want an hour or more", d)
	}
	if o.Elasticsearch, err = esOptions(c); err != nil {
		return o, err
	}
	if c.IsSet("export") {
		for _, f := range []string{"es", "kibana"} {
			if c.IsSet(f) {
				return o, usagef("--export asks no server: not together with --%s", f)
			}
		}
		if o.Export != "-" && !strings.HasSuffix(o.Export, ".ndjson") {
			return o, usagef("--export %s: Kibana imports only files whose names end in .ndjson", o.Export)
		}
		return o, nil
	}
	if o.Kibana, err = kibanaURL(c.String("kibana")); err != nil {
		return o, err
	}
	for _, f := range []string{"space", "alert-rules", "remove"} {
		if o.Kibana == "" && c.IsSet(f) {
			return o, usagef("--%s is about Kibana: pass --kibana URL or set KIBANA_URL", f)
		}
	}
	for _, f := range []string{"es", "alert-rules", "delete-after"} {
		if o.Remove && c.IsSet(f) {
			return o, usagef("--remove only takes out of Kibana what is there: not together with --%s", f)
		}
	}
	return o, nil
}

// kibanaURL is where Kibana is, "" if nobody says.
func kibanaURL(given string) (string, error) {
	if u, err := url.Parse(given); err == nil && u.User != nil {
		if _, secret := u.User.Password(); secret {
			return "", usagef("--kibana: a password in an argument can be read by everybody on this host; use " +
				"--kibana-user and --kibana-password-file, or KIBANA_URL")
		}
	}
	if given == "" {
		given = os.Getenv("KIBANA_URL")
	}
	return given, nil
}

func setup(ctx context.Context, o setupOptions, u *ui) error {
	if o.Export != "" {
		return export(o.Export, o.Elasticsearch.Prefix, u)
	}
	if !o.Remove && (len(o.Elasticsearch.Addresses) > 0 || o.Kibana == "") { // without either, say so
		if err := setupElasticsearch(ctx, &o, u); err != nil || o.Kibana == "" {
			return err
		}
	}
	return setupKibana(ctx, &o, u)
}

func setupElasticsearch(ctx context.Context, o *setupOptions, u *ui) error {
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	report, err := esmodel.Setup(ctx, client, esmodel.SetupOptions{Prefix: o.Elasticsearch.Prefix,
		DeleteAfter: o.DeleteAfter})
	if report != nil {
		for _, w := range report.Warnings {
			u.warn(w)
		}
		for _, i := range report.Items {
			u.say("info", "%-9s  %s %s", i.Action, i.Type, i.Name)
		}
	}
	return err
}

// export writes Kibana's objects to a file.
func export(name, prefix string, u *ui) error {
	if name == "-" {
		return kibana.Write(u.stdout, prefix)
	}
	var b bytes.Buffer
	if err := kibana.Write(&b, prefix); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

func setupKibana(ctx context.Context, o *setupOptions, u *ui) error {
	es, err := o.Elasticsearch.Config()
	var bad faults
	bad.add(err)
	k := kibana.Config{URL: o.Kibana, Space: o.Space, Username: o.KibanaUser,
		Password: readSecret("kibana-password-file", o.KibanaPasswordFile, "KIBANA_PASSWORD", &bad),
		APIKey:   readSecret("kibana-api-key-file", o.KibanaAPIKeyFile, "KIBANA_API_KEY", &bad)}
	own, _ := url.Parse(o.Kibana)
	if k.Username == "" && k.APIKey == "" && (own == nil || own.User == nil) {
		k.Username, k.Password, k.APIKey, k.ServiceToken = es.Username, es.Password, es.APIKey, es.ServiceToken
	}
	if k.Username != "" && k.APIKey != "" {
		bad.add(usagef("Kibana: more than one of user and password, and API key; pass one of them"))
	}
	if file := o.KibanaCACertFile; file != "" {
		es.Fingerprint, es.Insecure = "", false
		if es.CACert, err = os.ReadFile(file); err != nil {
			bad.add(usagef("--kibana-ca-cert: %v", err))
		}
	}
	if err = bad.err(); err != nil {
		return err
	}
	if k.HTTP, err = esmodel.HTTPClient(es); err != nil {
		return err
	}
	defer k.HTTP.CloseIdleConnections()
	if es.Insecure {
		u.warn("--es-insecure: Kibana's certificate is not checked; whoever is in between reads and changes everything")
	}
	if own != nil && own.Scheme == "http" && (k.Username != "" || k.APIKey != "" || k.ServiceToken != "") && own.Hostname() != "localhost" && own.Hostname() != "127.0.0.1" {
		u.warn("credentials for Kibana go over plain http: anybody on the way can read them; use https")
	}
	prefix := o.Elasticsearch.Prefix
	if o.Remove {
		objects, rules, failed := kibana.Remove(ctx, k, prefix)
		u.say("info", "removed    %d objects and %d alert rules from Kibana", objects, rules)
		return trusted(k, failed)
	}
	done, err := kibana.Import(ctx, k, prefix)
	if err != nil {
		return trusted(k, err)
	}
	for _, w := range done.Warnings {
		u.warn("Kibana: " + w)
	}
	u.say("info", "imported   %d objects into Kibana, %d of them in place of those that were there", done.Objects, done.Replaced)
	if done.Removed > 0 {
		u.say("info", "removed    %d objects of an older fiolat from Kibana", done.Removed)
	}
	if !o.AlertRules {
		return nil
	}
	made, there, err := kibana.AlertRules(ctx, k, prefix)
	if err != nil {
		return trusted(k, err)
	}
	u.say("info", "made       %d alert rules in Kibana; %d were there", made, there)
	return nil
}

// trusted is an error of Kibana's; if it is about whom to trust, it says how to.
func trusted(k kibana.Config, err error) error {
	if t := esmodel.Trust(err); t != nil {
		return fmt.Errorf("import into Kibana at %s: %w", k, t)
	}
	return err
}
