// Package setup implements fiolat setup: it installs templates and Kibana objects.
package setup

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/kibana"
)

// Options are the options of fiolat setup.
type Options struct {
	Elasticsearch command.Elasticsearch
	DeleteAfter   time.Duration // the age at which indices are deleted; 0: never
	RollUpAfter   time.Duration // only print how to roll up runs of that age; 0: off
	Export        string        // only write Kibana's objects to this file, "-" for standard output
	Remove        bool          // only remove from Kibana what setup has put there
	AlertRules    bool          // make alert rules in Kibana

	Kibana             string // its URL; "": nothing is imported
	Space              string // "": the default space
	KibanaUser         string // without user and key, the credentials for Elasticsearch
	KibanaPasswordFile string // else KIBANA_PASSWORD
	KibanaAPIKeyFile   string // else KIBANA_API_KEY
	KibanaCACertFile   string // PEM; else as for Elasticsearch
}

// Run sets up indices and Kibana.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	if o.RollUpAfter > 0 {
		_, err := fmt.Fprintln(u.Stdout, "17 3 * * *", o.Elasticsearch.Line("rollup", "--older-than",
			fmt.Sprintf("%dh", o.RollUpAfter/time.Hour), "--interval", "1m"))
		return err
	}
	if o.Export != "" {
		return export(o.Export, o.Elasticsearch.Prefix, u)
	}
	if !o.Remove && (len(o.Elasticsearch.Addresses) > 0 || o.Kibana == "") { // without either, Connect says so
		if err := setupElasticsearch(ctx, &o, u); err != nil || o.Kibana == "" {
			return err
		}
	}
	return setupKibana(ctx, &o, u)
}

func setupElasticsearch(ctx context.Context, o *Options, u *ui.UI) error {
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	report, err := indices.Setup(ctx, client, indices.SetupOptions{Prefix: o.Elasticsearch.Prefix,
		DeleteAfter: o.DeleteAfter})
	if report != nil {
		for _, w := range report.Warnings {
			u.Warn(w)
		}
		for _, i := range report.Items {
			u.Say("info", "%-9s  %s %s", i.Action, i.Type, i.Name)
		}
	}
	return err
}

func export(name, prefix string, u *ui.UI) error {
	if name == "-" {
		return kibana.Write(u.Stdout, prefix)
	}
	var b bytes.Buffer
	if err := kibana.Write(&b, prefix); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

func setupKibana(ctx context.Context, o *Options, u *ui.UI) error {
	es, err := o.Elasticsearch.Config()
	var bad errs.Faults
	bad.Add(err)
	k := kibana.Config{URL: o.Kibana, Space: o.Space, Username: o.KibanaUser,
		Password: command.ReadSecret("kibana-password-file", o.KibanaPasswordFile, "KIBANA_PASSWORD", &bad),
		APIKey:   command.ReadSecret("kibana-api-key-file", o.KibanaAPIKeyFile, "KIBANA_API_KEY", &bad)}
	own, _ := url.Parse(o.Kibana)
	if k.Username == "" && k.APIKey == "" && (own == nil || own.User == nil) {
		k.Username, k.Password, k.APIKey, k.ServiceToken = es.Username, es.Password, es.APIKey, es.ServiceToken
	}
	if k.Username != "" && k.APIKey != "" {
		bad.Add(errs.Usagef("Kibana: more than one of user and password, and API key; pass one of them"))
	}
	if file := o.KibanaCACertFile; file != "" {
		es.Fingerprint, es.Insecure = "", false
		if es.CACert, err = os.ReadFile(file); err != nil {
			bad.Add(errs.Usagef("--kibana-ca-cert: %v", err))
		}
	}
	if err = bad.Err(); err != nil {
		return err
	}
	if k.HTTP, err = client.HTTPClient(es); err != nil {
		return err
	}
	defer k.HTTP.CloseIdleConnections()
	if es.Insecure {
		u.Warn("--es-insecure: Kibana's certificate is not checked; anyone on the network path can read and change " +
			"all data")
	}
	if own != nil && own.Scheme == "http" && (k.Username != "" || k.APIKey != "" || k.ServiceToken != "") &&
		own.Hostname() != "localhost" && own.Hostname() != "127.0.0.1" {
		u.Warn("credentials for Kibana go over plain http: anybody on the way can read them; use https")
	}
	prefix := o.Elasticsearch.Prefix
	if o.Remove {
		objects, rules, failed := kibana.Remove(ctx, k, prefix)
		u.Say("info", "removed    %d objects and %d alert rules from Kibana", objects, rules)
		return trusted(k, failed)
	}
	done, err := kibana.Import(ctx, k, prefix)
	if err != nil {
		return trusted(k, err)
	}
	for _, w := range done.Warnings {
		u.Warn("Kibana: " + w)
	}
	u.Say("info", "imported   %d objects into Kibana, %d of them in place of those that were there", done.Objects,
		done.Replaced)
	if done.Removed > 0 {
		u.Say("info", "removed    %d objects of an older fiolat from Kibana", done.Removed)
	}
	if !o.AlertRules {
		return nil
	}
	made, there, err := kibana.AlertRules(ctx, k, prefix)
	if err != nil {
		return trusted(k, err)
	}
	u.Say("info", "made       %d alert rules in Kibana; %d were there", made, there)
	return nil
}

// trusted adds what to do to an error about Kibana's certificate.
func trusted(k kibana.Config, err error) error {
	if t := client.Trust(err); t != nil {
		return fmt.Errorf("import into Kibana at %s: %w", k, t)
	}
	return err
}
