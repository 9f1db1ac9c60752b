package like

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// option is a flag of the program. The type of target determines its values: none for *bool, one or more for
// *[]float64, one for all others.
type option struct {
	names   []string
	target  any
	meta    string
	help    string
	choices []int64
}

// parser parses a command line like Python 3.11's argparse with one positional argument that takes one or more values:
// flags may be abbreviated, a value may follow `=`, several values may follow one flag, `--` ends flags, and the files
// must be contiguous.
type parser struct {
	program string
	options []*option
	files   []string
}

// flag is an argument recognised as a flag. opt is nil for an unknown one.
type flag struct {
	opt   *option
	name  string
	value *string // the part after `=`, or after a one-letter name
}

func newParser(program string) *parser {
	p := &parser{program: program}
	var help bool
	p.add(&help, "", "print this help and exit", "-h", "--help")
	return p
}

func (p *parser) add(target any, meta, help string, names ...string) *option {
	o := &option{names: names, target: target, meta: meta, help: help}
	p.options = append(p.options, o)
	return o
}

// usage writes a summary of the flags, in other words than the program's.
func (p *parser) usage(w io.Writer) {
	fmt.Fprintf(w, "usage: fiolat percentiles --like %s [FLAG...] [--] FILE...\n\n", p.program)
	for _, o := range p.options {
		fmt.Fprintf(w, "  %-32s %s\n", strings.TrimSpace(strings.Join(o.names, ", ")+" "+o.meta), o.help)
	}
}

// usageOr prints the usage unless err is set.
func (p *parser) usageOr(err error, w io.Writer) error {
	if err == nil {
		p.usage(w)
	}
	return err
}

func (p *parser) fail(format string, args ...any) *UsageError {
	return &UsageError{
		Message: p.program + ": " + fmt.Sprintf(format, args...),
		Hint: fmt.Sprintf("fiolat percentiles --like %s --help lists the flags; files must stand together, behind "+
			"-- if need be", p.program),
	}
}

// negativeNumber matches values such as -5, which are no flags.
var negativeNumber = lazily(`^-(\d+|\d*\.\d+)$`)

func (p *parser) exact(name string) *option {
	for _, o := range p.options {
		if slices.Contains(o.names, name) {
			return o
		}
	}
	return nil
}

// recognise returns the flag that arg is, nil if it is a value or a file.
func (p *parser) recognise(arg string) (*flag, error) {
	if len(arg) < 2 || arg[0] != '-' {
		return nil, nil
	}
	if o := p.exact(arg); o != nil {
		return &flag{o, arg, nil}, nil
	}
	name, rest, hasValue := strings.Cut(arg, "=")
	var value *string
	if hasValue {
		value = &rest
		if o := p.exact(name); o != nil {
			return &flag{o, name, value}, nil
		}
	}
	var found []*flag
	if arg[1] == '-' {
		for _, o := range p.options {
			for _, n := range o.names {
				if strings.HasPrefix(n, name) {
					found = append(found, &flag{o, n, value})
				}
			}
		}
	} else if o := p.exact(arg[:2]); o != nil {
		tail := arg[2:]
		found = append(found, &flag{o, arg[:2], &tail})
	}
	switch {
	case len(found) > 1:
		names := make([]string, len(found))
		for i, f := range found {
			names[i] = f.name
		}
		return nil, p.fail("%q could be %s", arg, strings.Join(names, ", "))
	case len(found) == 1:
		return found[0], nil
	case negativeNumber().MatchString(arg), strings.Contains(arg, " "):
		return nil, nil
	}
	return &flag{name: arg}, nil
}

// parse sets the options' targets and p.files. help is true if -h or --help precedes any error.
func (p *parser) parse(args []string) (help bool, err error) {
	// pattern has one letter for each argument: O for a flag, - for the first "--", A for all others.
	pattern := make([]byte, 0, len(args))
	flags := make([]*flag, len(args))
	last := -1
	for i, arg := range args {
		if arg == "--" {
			pattern = append(pattern, '-')
			pattern = append(pattern, bytes.Repeat([]byte{'A'}, len(args)-i-1)...)
			break
		}
		f, err := p.recognise(arg)
		if err != nil {
			return false, err
		}
		if f == nil {
			pattern = append(pattern, 'A')
			continue
		}
		pattern, flags[i], last = append(pattern, 'O'), f, i
	}
	var unknown []string
	at := 0
	for at <= last {
		next := at + bytes.IndexByte(pattern[at:], 'O')
		if at != next {
			if end := p.takeFiles(args, pattern, at); end > at {
				at = end
				continue
			}
			unknown = append(unknown, args[at:next]...)
			at = next
		}
		f := flags[at]
		if f.opt == nil {
			unknown = append(unknown, args[at])
			at++
			continue
		}
		at++
		n, help, err := p.takeFlag(f, args[at:], pattern[at:])
		if help || err != nil {
			return help, err
		}
		at += n
	}
	at = p.takeFiles(args, pattern, at)
	unknown = append(unknown, args[at:]...)
	switch {
	case p.files == nil:
		return false, p.fail("no FILE given")
	case len(unknown) > 0:
		return false, p.fail("unrecognized arguments: %s", strings.Join(unknown, " "))
	}
	return false, nil
}

// takeFiles sets p.files to the values at at, unless it is set already, and returns where they end.
func (p *parser) takeFiles(args []string, pattern []byte, at int) int {
	if p.files != nil {
		return at
	}
	end := at
	for end < len(pattern) && pattern[end] == '-' {
		end++
	}
	if end == len(pattern) || pattern[end] != 'A' {
		return at
	}
	for end < len(pattern) && pattern[end] != 'O' {
		end++
	}
	p.files = withoutDashes(args[at:end])
	return end
}

// withoutDashes returns values without the first "--".
func withoutDashes(values []string) []string {
	var out []string
	for i, v := range values {
		if v == "--" {
			return append(out, values[i+1:]...)
		}
		out = append(out, v)
	}
	return out
}

// takeFlag sets the target of f and returns how many of the arguments after it are its values.
func (p *parser) takeFlag(f *flag, args []string, pattern []byte) (n int, help bool, err error) {
	none := func(o *option) bool { _, is := o.target.(*bool); return is }
	var switches []*option
	for f.value != nil && none(f.opt) {
		// More letters may follow one that takes no value: -hi1000.
		tail := *f.value
		if strings.HasPrefix(f.name, "--") || tail == "" {
			return 0, false, p.fail("%s takes no value, %q given", f.name, tail)
		}
		o := p.exact("-" + tail[:1])
		if o == nil {
			return 0, false, p.fail("%s takes no value, %q given", f.name, tail)
		}
		switches = append(switches, f.opt)
		f = &flag{opt: o, name: "-" + tail[:1]}
		if rest := tail[1:]; rest != "" {
			f.value = &rest
		}
	}
	var values []string
	switch _, many := f.opt.target.(*[]float64); {
	case f.value != nil:
		if values = withoutDashes([]string{*f.value}); len(values) == 0 {
			return 0, false, p.fail("%s: no value given", f.name)
		}
	case none(f.opt):
	default:
		for n < len(pattern) && pattern[n] == 'A' && (many || n == 0) {
			n++
		}
		if n == 0 {
			return 0, false, p.fail("%s: no value given", f.name)
		}
		values = args[:n]
	}
	for _, o := range append(switches, f.opt) {
		if o.names[0] == "-h" {
			return 0, true, nil
		}
		if err := p.set(o, f.name, values); err != nil {
			return 0, false, err
		}
	}
	return n, false, nil
}

// set converts values like Python's int() and float() and stores them in the target of o.
func (p *parser) set(o *option, name string, values []string) error {
	switch t := o.target.(type) {
	case *bool:
		*t = true
	case *string:
		*t = values[0]
	case *int64:
		v, ok := pyInt64(values[0])
		if !ok {
			return p.fail("%s: %q is not a whole number", name, values[0])
		}
		*t = v
	case **int64:
		v, ok := pyInt64(values[0])
		if !ok {
			return p.fail("%s: %q is not a whole number", name, values[0])
		}
		*t = &v
	case **float64:
		v, ok := pyFloat(values[0])
		if !ok {
			return p.fail("%s: %q is not a number", name, values[0])
		}
		*t = &v
	case *[]float64:
		*t = nil
		for _, s := range values {
			v, ok := pyFloat(s)
			if !ok {
				return p.fail("%s: %q is not a number", name, s)
			}
			*t = append(*t, v)
		}
	}
	if o.choices == nil {
		return nil
	}
	if slices.Contains(o.choices, *o.target.(*int64)) {
		return nil
	}
	return p.fail("%s: invalid value %s: want one of %v", name, values[0], o.choices)
}
