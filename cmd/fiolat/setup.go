package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/kibana"
)

type setupOptions struct {
	es          runsource.Elasticsearch
	deleteAfter time.Duration // the age that all data reaches; 0: as the policy is, negative: it is never deleted
	shards      int           // of an index of histograms; 0: as the template has it
	export      string        // only write to this file, "-" for standard output, or to this directory
	remove      bool          // only remove from Kibana what setup has put there
	alertRules  bool          // make alert rules in Kibana

	kibana string // its URL; "": nothing is imported
	space  string // "": the default space
}

func setupCommand(u *ui.UI) *cli.Command {
	o := &setupOptions{}
	return &cli.Command{
		Name: "setup",
		Flags: append(esFlags(&o.es),
			&cli.GenericFlag{Name: "delete-after", Value: parsed(&o.deleteAfter, "--delete-after ", parseAge),
				Usage: "delete data after `AGE`, such as 90d or 52w; 0 is never; by whole months, so 90 to 121 days"},
			&cli.IntFlag{Name: "shards", Destination: &o.shards,
				Usage: "`N` shards for each new index of histograms: the GB of a month divided by 40 (default: unchanged)"},
			&cli.StringFlag{Name: "kibana", Destination: &o.kibana,
				Usage: "`URL` of Kibana (default: KIBANA_URL); credentials are those for Elasticsearch, or KIBANA_USERNAME and " +
					"others"},
			&cli.StringFlag{Name: "space", Destination: &o.space,
				EnvVars: []string{"KIBANA_SPACE"},
				Usage:   "`ID` of the space in Kibana"},
			&cli.BoolFlag{Name: "alert-rules", Destination: &o.alertRules,
				Usage: "also create rules in Kibana for SLA breaches, trouble that the probe finds and slower runs"},
			&cli.BoolFlag{Name: "remove", Destination: &o.remove,
				Usage: "remove from Kibana what setup created, and do nothing else"},
			&cli.StringFlag{Name: "export", Destination: &o.export,
				Usage: "write dashboards to `FILE`.ndjson or -, or with templates and policy into a directory; needs no server"},
		),
		Action: action(u, o),
	}
}

func (o *setupOptions) check(c *cli.Context, bad *fio.Faults) {
	apart := func(flags []string, format string) {
		for _, f := range flags {
			if c.IsSet(f) {
				bad.Add(fio.Usagef(format, f))
			}
		}
	}
	if c.NArg() > 0 {
		bad.Add(fio.Usagef("fiolat setup takes no arguments: %q", c.Args().First()))
	}
	if d := o.deleteAfter; d < 0 || d > 0 && d < time.Hour {
		bad.Add(fio.Usagef("--delete-after %v: want an hour or more, or 0 for never", d))
	} else if d == 0 && c.IsSet("delete-after") {
		o.deleteAfter = -1
	}
	if c.IsSet("shards") && (o.shards < 1 || o.shards > 1024) {
		bad.Add(fio.Usagef("--shards %d: want 1 to 1024", o.shards))
	}
	checkES(c, &o.es, bad)
	if c.IsSet("export") {
		apart([]string{"es", "kibana"}, "--export asks no server: not together with --%s")
		apart([]string{"alert-rules", "remove"}, "--export only writes files: not together with --%s")
		if o.directory() {
			return
		}
		apart([]string{"delete-after", "shards"}, "--%s is about policy and templates, which --export writes into a "+
			"directory alone")
		if o.export != "-" && !strings.HasSuffix(o.export, ".ndjson") {
			bad.Add(fio.Usagef("--export %s: Kibana imports only files whose names end in .ndjson; a directory must exist "+
				"or end in /", o.export))
		}
		return
	}
	if u, err := url.Parse(o.kibana); err == nil && u.User != nil {
		if _, secret := u.User.Password(); secret {
			bad.Add(fio.Usagef("--kibana: a password in an argument can be read by everybody on this host; use " +
				"KIBANA_USERNAME and KIBANA_PASSWORD, or KIBANA_URL"))
		}
	}
	o.kibana = cmp.Or(o.kibana, os.Getenv("KIBANA_URL"))
	if o.kibana == "" {
		apart([]string{"space", "alert-rules", "remove"}, "--%s is about Kibana: pass --kibana URL or set KIBANA_URL")
	}
	if o.remove {
		apart([]string{"es", "alert-rules", "delete-after", "shards"},
			"--remove only takes out of Kibana what is there: not together with --%s")
	}
}

// run sets up indices and Kibana.
func (o *setupOptions) run(ctx context.Context, u *ui.UI) error {
	if o.export != "" {
		if o.directory() {
			return o.exportAll()
		}
		return exportKibana(o.export, o.es.Prefix, u)
	}
	if !o.remove && (len(o.es.Addresses) > 0 || o.kibana == "") { // without either, Connect says so
		if err := o.indices(ctx, u); err != nil || o.kibana == "" {
			return err
		}
	}
	return o.importKibana(ctx, u)
}

func (o *setupOptions) indices(ctx context.Context, u *ui.UI) error {
	c, err := o.es.Connect(u)
	if err != nil {
		return err
	}
	defer c.Close()
	report, err := indices.Setup(ctx, c, indices.SetupOptions{Prefix: o.es.Prefix,
		DeleteAfter: o.deleteAfter, Shards: o.shards})
	if report != nil {
		for _, w := range report.Warnings {
			u.Warn(w)
		}
		for _, i := range report.Items {
			u.Say("info", "%-9s  %s %s%s", i.Action, i.Type, i.Name, i.Note)
		}
	}
	if err != nil {
		return err
	}
	other, err := stored.OtherFormats(ctx, c, o.es.Prefix)
	if err != nil {
		return err
	}
	if text := stored.WarnFormats(other); text != "" {
		u.Warn(text)
	}
	return nil
}

// directory reports whether --export names a directory.
func (o *setupOptions) directory() bool {
	info, err := os.Stat(o.export)
	return strings.HasSuffix(o.export, "/") || err == nil && info.IsDir()
}

// exportAll writes what setup sends to a cluster with all features: for each kind of document the index template, the
// lifecycle policy, and Kibana's objects.
func (o *setupOptions) exportAll() error {
	dir, prefix := o.export, o.es.Prefix
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	write := func(name string, body any) error {
		text, err := json.MarshalIndent(body, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), append(text, '\n'), 0o644)
	}
	policy, _ := indices.Policy(o.deleteAfter)
	if err := write(prefix+".policy.json", policy); err != nil {
		return err
	}
	for _, kind := range esmodel.Kinds {
		template, err := indices.Template(prefix, kind, true, true, max(o.shards, 1))
		if err == nil {
			err = write(prefix+"-"+string(kind)+".template.json", template)
		}
		if err != nil {
			return err
		}
	}
	return exportKibana(filepath.Join(dir, prefix+".kibana.ndjson"), prefix, nil)
}

func exportKibana(name, prefix string, u *ui.UI) error {
	if name == "-" {
		return kibana.Write(u.Stdout, prefix)
	}
	var b bytes.Buffer
	if err := kibana.Write(&b, prefix); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

func (o *setupOptions) importKibana(ctx context.Context, u *ui.UI) error {
	es, err := o.es.Config()
	var bad fio.Faults
	bad.Add(err)
	k := kibana.Config{URL: o.kibana, Space: o.space, Username: os.Getenv("KIBANA_USERNAME"),
		Password: os.Getenv("KIBANA_PASSWORD"), APIKey: os.Getenv("KIBANA_API_KEY")}
	own, _ := url.Parse(o.kibana)
	if k.Username == "" && k.APIKey == "" && (own == nil || own.User == nil) {
		k.Username, k.Password, k.APIKey, k.ServiceToken = es.Username, es.Password, es.APIKey, es.ServiceToken
	}
	if k.Username != "" && k.APIKey != "" {
		bad.Add(fio.Usagef("Kibana: more than one of user and password, and API key; pass one of them"))
	}
	if file := os.Getenv("KIBANA_CA_CERT"); file != "" {
		es.Fingerprint, es.Insecure = "", false
		if es.CACert, err = os.ReadFile(file); err != nil {
			bad.Add(fio.Usagef("KIBANA_CA_CERT: %v", err))
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
	prefix := o.es.Prefix
	if o.remove {
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
	if !o.alertRules {
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
