// Command dist builds a release: static binaries for linux amd64 and arm64 as .tar.gz, .deb and .rpm, with man pages,
// completions, the systemd unit and job examples; an SBOM of each binary; checksums. Builds are reproducible: the same
// commit and Go version give the same bytes.
//
// It is a separate module, to keep its dependencies out of fiolat's.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

func main() {
	root := flag.String("root", ".", "`DIR` of the repository")
	out := flag.String("out", "dist", "output `DIR`; existing contents are deleted")
	version := flag.String("version", "", "version, such as 1.2.0 (default: from git describe)")
	flag.Parse()
	if err := dist(*root, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// tags of the build.
const tags = "urfave_cli_no_docs"

var arches = []string{"amd64", "arm64"}

// file is a file of a release.
type file struct {
	// tar is its path in the archive, pkg that in packages; "" leaves it out.
	tar, pkg string
	mode     fs.FileMode
	data     []byte
}

// release is shared by all files.
type release struct {
	root, out, version, commit string
	date                       time.Time
}

func dist(root, out, version string) error {
	r := &release{root: root, out: out, version: version}
	if err := r.identify(); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	shared, err := r.shared()
	if err != nil {
		return err
	}
	for _, arch := range arches {
		if err := r.build(arch, shared); err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
	}
	return r.checksums()
}

// identify finds version, commit and date. Uncommitted changes make a dirty version.
func (r *release) identify() error {
	git := func(args ...string) (string, error) { return r.output(nil, "git", args...) }
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	r.commit = commit
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = git("log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH %q: want seconds since 1970", seconds)
	}
	r.date = time.Unix(unix, 0).UTC()
	if r.version != "" {
		return nil
	}
	if described, bad := git("describe", "--tags", "--match", "v[0-9]*", "--dirty"); bad == nil {
		r.version = strings.TrimPrefix(described, "v")
		return nil
	}
	dirty, err := git("status", "--porcelain", "--untracked-files=no")
	if r.version = "0.0.0-" + r.date.Format("20060102") + "." + commit[:12]; dirty != "" {
		r.version += ".dirty"
	}
	return err
}

// output runs a program in the repository and returns its output.
func (r *release) output(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = r.root, append(os.Environ(), env...), os.Stderr
	b, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(b)), nil
}

// compile builds fiolat for an architecture; "" is the architecture of this machine.
func (r *release) compile(arch, to string) error {
	env := []string{"CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=", "GOAMD64=v1"}
	if arch != "" {
		env = append(env, "GOARCH="+arch)
	}
	const pkg = "main"
	flags := fmt.Sprintf("-s -w -buildid= -X %s.version=%s -X %s.commit=%s -X %s.date=%s", pkg, r.version, pkg,
		r.commit, pkg, r.date.Format(time.RFC3339))
	_, err := r.output(env, "go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", flags,
		"-o", to, "./cmd/fiolat")
	return err
}

// shared returns the files that do not depend on the architecture.
func (r *release) shared() (all []file, err error) {
	temp, err := os.MkdirTemp("", "fiolat-dist")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	if _, err := r.output(nil, "go", "test", "-run", "^TestPackaged$", "./cmd/fiolat", "-package", temp); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(temp, "*.1"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(page)
		all = append(all, file{"man/man1/" + name, "", 0o644, text},
			file{"", "/usr/share/man/man1/" + name + ".gz", 0o644, zipped(text)})
	}
	for shell, where := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/fiolat",
		"zsh":  "/usr/share/zsh/vendor-completions/_fiolat",
		"fish": "/usr/share/fish/vendor_completions.d/fiolat.fish",
	} {
		text, err := r.output(nil, "go", "run", "./cmd/fiolat", "completion", shell)
		if err != nil {
			return nil, err
		}
		all = append(all, file{"completions/" + path.Base(where), where, 0o644, []byte(text + "\n")})
	}
	for from, where := range map[string]string{
		"README.md": "/usr/share/doc/fiolat/README.md", "CHANGELOG.md": "/usr/share/doc/fiolat/CHANGELOG.md",
		"LICENSE": "/usr/share/doc/fiolat/copyright", "scripts/fiolat-probe.service": "/usr/lib/systemd/system/" +
			"fiolat-probe.service",
	} {
		text, err := os.ReadFile(filepath.Join(r.root, from))
		if err != nil {
			return nil, err
		}
		installed := text
		if strings.HasSuffix(from, ".service") {
			installed = bytes.ReplaceAll(text, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
		}
		all = append(all, file{path.Base(from), "", 0o644, text}, file{"", where, 0o644, installed})
	}
	examples, err := filepath.Glob(filepath.Join(r.root, "examples", "*"))
	if err == nil && len(examples) == 0 {
		err = errors.New("no examples")
	}
	for _, e := range examples {
		text, bad := os.ReadFile(e)
		err = errors.Join(err, bad)
		name := "examples/" + filepath.Base(e)
		all = append(all, file{name, "/usr/share/doc/fiolat/" + name, 0o644, text})
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Or(cmp.Compare(a.tar, b.tar), cmp.Compare(a.pkg, b.pkg)) })
	return all, err
}

// zipped returns text compressed by gzip, without name and time.
func zipped(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(text) // to memory
	_ = w.Close()
	return b.Bytes()
}

func (r *release) build(arch string, shared []file) error {
	name := fmt.Sprintf("fiolat-%s-linux-%s", r.version, arch)
	binary := filepath.Join(r.out, name)
	to, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	if err := r.compile(arch, to); err != nil {
		return err
	}
	sbom, err := r.output(nil, "scripts/sbom", to)
	if err != nil {
		return err
	}
	if err := os.WriteFile(binary+".cdx.json", []byte(sbom+"\n"), 0o644); err != nil {
		return err
	}
	program, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	notices, err := r.notices(arch, to)
	if err != nil {
		return err
	}
	all := append([]file{{"fiolat", "/usr/bin/fiolat", 0o755, program},
		{"NOTICES", "/usr/share/doc/fiolat/NOTICES", 0o644, notices}}, shared...)
	if err := os.WriteFile(binary+".tar.gz", r.archive(name, all), 0o644); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(format, arch, all); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return os.Remove(to)
}

// notices returns the licenses and notices of Go and of all modules in a binary.
func (r *release) notices(arch, binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	env := []string{"CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=", "GOARCH=" + arch}
	list, err := r.output(env, "go", "list", "-deps", "-tags", tags, "-f",
		"{{with .Module}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}", "./cmd/fiolat")
	if err != nil {
		return nil, err
	}
	found := map[string][]string{} // by module, of all directories from its packages' up to its own
	for _, line := range strings.Split(list, "\n") {
		module, dirs, _ := strings.Cut(line, "\t")
		root, dir, ok := strings.Cut(dirs, "\t")
		for ok {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				name := filepath.Join(dir, e.Name())
				if e.Type().IsRegular() && notice(e.Name()) && !slices.Contains(found[module], name) {
					found[module] = append(found[module], name)
				}
			}
			if dir == root {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	goroot, err := r.output(nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	found["Go"] = []string{filepath.Join(goroot, "LICENSE")}
	modules := [][2]string{{"Go", info.GoVersion}}
	for _, m := range info.Deps {
		modules = append(modules, [2]string{m.Path, m.Version})
	}
	var b bytes.Buffer
	b.WriteString("fiolat contains these modules. Their licenses and notices follow.\n\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "%s %s\n", m[0], m[1])
	}
	for _, m := range modules {
		if len(found[m[0]]) == 0 {
			return nil, fmt.Errorf("module %s has no license or notice; add its file's name to those that notice knows", m[0])
		}
		slices.Sort(found[m[0]])
		for _, name := range found[m[0]] {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "\n%s\n%s %s, %s\n\n%s\n", strings.Repeat("-", 80), m[0], m[1], filepath.Base(name),
				bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), nil
}

// notice reports whether a file of that name holds a license or notice.
func notice(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, func(s string) bool {
		return strings.HasPrefix(name, s) && !strings.HasSuffix(name, ".GO")
	})
}

func (r *release) archive(dir string, all []file) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range all {
		if f.tar == "" {
			continue
		}
		_ = w.WriteHeader(&tar.Header{Name: dir + "/" + f.tar, Mode: int64(f.mode), Size: int64(len(f.data)),
			ModTime: r.date, Uname: "root", Gname: "root", Format: tar.FormatPAX}) // to memory
		_, _ = w.Write(f.data)
	}
	_ = w.Close()
	return zipped(b.Bytes())
}

func (r *release) pack(format, arch string, all []file) error {
	temp, err := os.MkdirTemp("", "fiolat-"+format)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	info := &nfpm.Info{
		Name: "fiolat", Arch: arch, Platform: "linux", Version: r.version, Section: "admin", Priority: "optional",
		Maintainer: "The fiolat authors <fiolat@localhost>", MTime: r.date, DisableGlobbing: true,
		Description: "fio's latency histograms over time\nAligns, adds up and stores the latency histograms that fio " +
			"logs on many hosts,\nand says which latency how many of the requests saw, when, and on which host.",
		License: "see /usr/share/doc/fiolat/copyright",
	}
	info.RPM.BuildHost = "localhost"
	info.RPM.Group = "Applications/System"
	for i, f := range all {
		if f.pkg == "" {
			continue
		}
		source := filepath.Join(temp, strconv.Itoa(i))
		if err := os.WriteFile(source, f.data, 0o644); err != nil {
			return err
		}
		info.Contents = append(info.Contents, &files.Content{Source: source, Destination: f.pkg,
			FileInfo: &files.ContentFileInfo{Mode: f.mode, Owner: "root", Group: "root", MTime: r.date}})
	}
	for _, dir := range []string{"/usr/share/doc/fiolat", "/usr/share/doc/fiolat/examples"} {
		info.Contents = append(info.Contents, &files.Content{Destination: dir, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Mode: 0o755, Owner: "root", Group: "root", MTime: r.date}})
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, packager.ConventionalFileName(info)), b.Bytes(), 0o644)
}

// checksums writes SHA256SUMS of all files, for sha256sum -c.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	fmt.Print(b.String())
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}
