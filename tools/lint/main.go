// Command lint is what `go vet -vettool` runs for `make lint`: vet's own checks, and those of staticcheck, errcheck,
// errorlint, bodyclose and ineffassign, each for a reason that is beside it below; and that lines and comments are as
// CONTRIBUTING says. A finding that is wrong gets a comment `//nolint:NAME // why` in its line.
package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/kisielk/errcheck/errcheck"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/unitchecker"
	"golang.org/x/tools/go/types/typeutil"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// skipped are checks of staticcheck that are not made: docs looks after comments, and others find what is meant.
var skipped = map[string]bool{"ST1000": true, "ST1003": true, "ST1020": true, "ST1021": true, "ST1022": true,
	"SA9003": true, "SA5012": true, "ST1023": true}

func main() {
	checks := []*analysis.Analyzer{
		// What compiles and is a bug, as `go vet` finds it.
		atomic.Analyzer, bools.Analyzer, buildtag.Analyzer, copylock.Analyzer, defers.Analyzer, httpresponse.Analyzer,
		loopclosure.Analyzer, lostcancel.Analyzer, nilfunc.Analyzer, printf.Analyzer, stdmethods.Analyzer,
		structtag.Analyzer, testinggoroutine.Analyzer, unreachable.Analyzer, unusedresult.Analyzer,
		bodyclose.Analyzer,        // a response whose body stays open leaks a connection per bulk request
		errors(errcheck.Analyzer), // an error that nobody looks at is a loss that nobody counts
		errorlint.NewAnalyzer(),   // exit codes come from errors.As: a cause is wrapped with %w, not compared
		ineffassign.Analyzer,      // a value that is never read is a check that was forgotten
		dead, docs, endless, shuffled, hidden, width,
	}
	for _, list := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, a := range list {
			if !skipped[a.Analyzer.Name] {
				checks = append(checks, a.Analyzer)
			}
		}
	}
	for _, a := range checks {
		named(a)
	}
	unitchecker.Main(checks...)
}

// named leaves out findings in lines with a comment that names the check.
func named(a *analysis.Analyzer) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		allowed := map[token.Position]bool{}
		for _, f := range pass.Files {
			for _, group := range f.Comments {
				for _, c := range group.List {
					if strings.HasPrefix(c.Text, "//nolint:"+a.Name+" // ") {
						allowed[line(pass.Fset, c.Pos())] = true
					}
				}
			}
		}
		inner := *pass
		inner.Report = func(d analysis.Diagnostic) {
			if !allowed[line(pass.Fset, d.Pos)] {
				pass.Report(d)
			}
		}
		return run(&inner)
	}
}

func line(fset *token.FileSet, at token.Pos) token.Position {
	p := fset.Position(at)
	return token.Position{Filename: p.Filename, Line: p.Line}
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// harmless are calls whose errors nobody needs: a deferred Close of what was read, or on the way out after another error
// (what is written is closed in line); the Close of a response's body; and Fprint to a bufio.Writer, which keeps its
// first error for the Flush that is checked, to a buffer, or to standard error, where nobody is left to tell.
var harmless = regexp.MustCompile(`^\s*defer .+\.Close\(\)$|\.Body\.Close\(\)|\bfmt\.Fprint`)

// errors narrows errcheck: not in tests, where such an error shows in what is compared, and not where it is harmless.
func errors(a *analysis.Analyzer) *analysis.Analyzer {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		inner := *pass
		text := map[string][]string{}
		inner.Report = func(d analysis.Diagnostic) {
			p := pass.Fset.Position(d.Pos)
			if isTest(p.Filename) {
				return
			}
			if text[p.Filename] == nil {
				data, err := os.ReadFile(p.Filename)
				if err != nil {
					panic(err)
				}
				text[p.Filename] = strings.Split(string(data), "\n")
			}
			if !harmless.MatchString(text[p.Filename][p.Line-1]) {
				pass.Report(d)
			}
		}
		return run(&inner)
	}
	return a
}

// dead finds what nothing uses. Where a package has tests, it looks at the package with them.
var dead = &analysis.Analyzer{Name: "unused", Doc: "dead code misleads readers",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer}, Run: func(pass *analysis.Pass) (any, error) {
		tests := false
		for _, f := range pass.Files {
			tests = tests || isTest(pass.Fset.Position(f.Pos()).Filename)
		}
		if !tests && len(pass.Files) > 0 {
			dir := filepath.Dir(pass.Fset.Position(pass.Files[0].Pos()).Filename)
			if found, _ := filepath.Glob(filepath.Join(dir, "*_test.go")); len(found) > 0 {
				return nil, nil
			}
		}
		for _, o := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
			for _, f := range pass.Files {
				if tf := pass.Fset.File(f.Pos()); tf.Name() == o.Position.Filename {
					pass.Reportf(tf.LineStart(o.Position.Line), "%s %s is unused", o.Kind, o.Name)
				}
			}
		}
		return nil, nil
	}}

// docs finds exported names, and packages, without a comment that begins with their names.
var docs = &analysis.Analyzer{Name: "docs", Doc: "every exported thing and every package says what it is",
	Run: func(pass *analysis.Pass) (any, error) {
		described := pass.Pkg.Name() == "main" || strings.HasSuffix(pass.Pkg.Name(), "_test")
		for _, f := range pass.Files {
			described = described || f.Doc != nil || isTest(pass.Fset.Position(f.Pos()).Filename)
			if isTest(pass.Fset.Position(f.Pos()).Filename) {
				continue
			}
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil || ast.IsExported(receiver(d)) {
						begins(pass, d.Name, d.Doc, d.Recv != nil)
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if s, ok := s.(*ast.TypeSpec); ok {
							doc := s.Doc
							if doc == nil {
								doc = d.Doc
							}
							begins(pass, s.Name, doc, false)
						}
					}
				}
			}
		}
		if !described && len(pass.Files) > 0 {
			pass.Reportf(pass.Files[0].Package, "no file has a package comment")
		}
		return nil, nil
	}}

// wellKnown are methods that need no comment.
var wellKnown = regexp.MustCompile(`^(Error|Read|Write|String|Unwrap|ServeHTTP|Len|Less|Swap|Push|Pop|Set|Close|` +
	`(Unm|M)arshal.*)$`)

func begins(pass *analysis.Pass, name *ast.Ident, doc *ast.CommentGroup, method bool) {
	if !name.IsExported() || method && wellKnown.MatchString(name.Name) {
		return
	}
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if !strings.HasPrefix(text, name.Name) {
		pass.Reportf(name.Pos(), "exported %s has no comment of the form %q", name.Name, name.Name+" ...")
	}
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// endless finds loops that nothing is sure to end: those without a condition around a request, unless a Retrier gives up
// for them, and those up a path whose condition does not look at the folder above, as "/" and "." are their own.
var endless = &analysis.Analyzer{Name: "endless", Doc: "who answers the same forever is asked forever",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			if isTest(pass.Fset.Position(f.Pos()).Filename) {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				loop, ok := n.(*ast.ForStmt)
				if !ok {
					return true
				}
				if loop.Cond == nil && calls(pass, loop.Body, isRequest) && !calls(pass, loop.Body, isRetrier) {
					pass.Reportf(loop.For, "a loop around requests has neither a condition nor a Retrier")
				}
				if climbs(pass, loop.Body) && (loop.Cond == nil || !calls(pass, loop.Cond, isDir)) {
					pass.Reportf(loop.For, "the loop goes up a path, and its condition does not look at the folder above")
				}
				return true
			})
		}
		return nil, nil
	}}

// calls reports whether a statement or expression calls a function, leaving out what function literals do.
func calls(pass *analysis.Pass, in ast.Node, is func(*types.Func) bool) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			f, isFunc := typeutil.Callee(pass.TypesInfo, call).(*types.Func)
			found = found || isFunc && is(f)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal && !found
	})
	return found
}

// servers are the packages that ask servers.
var servers = regexp.MustCompile(`^(fiolat/(esmodel|kibana|internal/alert)\b|net/http$)`)

// isRequest reports whether a function of servers takes a context and may fail.
func isRequest(f *types.Func) bool {
	s := f.Signature()
	if f.Pkg() == nil || !servers.MatchString(f.Pkg().Path()) || s.Params().Len() == 0 || s.Results().Len() == 0 {
		return false
	}
	return s.Params().At(0).Type().String() == "context.Context" &&
		s.Results().At(s.Results().Len()-1).Type().String() == "error"
}

func isRetrier(f *types.Func) bool { return strings.HasSuffix(f.FullName(), "client.Retrier).Wait") }

func isDir(f *types.Func) bool {
	return f.FullName() == "path.Dir" || f.FullName() == "path/filepath.Dir"
}

// climbs reports whether a path is replaced with its folder.
func climbs(pass *analysis.Pass, in ast.Node) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit: // looked at by itself
			return false
		case *ast.AssignStmt:
			to, ok := n.Lhs[0].(*ast.Ident)
			call, isCall := n.Rhs[0].(*ast.CallExpr)
			if ok && isCall && len(n.Lhs) == 1 && calls(pass, n, isDir) {
				from, ok := call.Args[0].(*ast.Ident)
				found = found || ok && pass.TypesInfo.ObjectOf(from) == pass.TypesInfo.ObjectOf(to)
			}
		}
		return !found
	})
	return found
}

// shuffled finds ranges over maps whose order is seen: what is printed or reported in them, float64s that they add up,
// and slices that they append to and nobody sorts.
var shuffled = &analysis.Analyzer{Name: "shuffled", Doc: "the same input gives the same bytes",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			if isTest(pass.Fset.Position(f.Pos()).Filename) {
				continue
			}
			for _, d := range f.Decls {
				ast.Inspect(d, func(n ast.Node) bool {
					loop, ok := n.(*ast.RangeStmt)
					if !ok {
						return true
					}
					if _, isMap := pass.TypesInfo.TypeOf(loop.X).Underlying().(*types.Map); isMap {
						if what := orderSeen(pass, d, loop); what != "" {
							pass.Reportf(loop.For, "the order of a map is seen: %s", what)
						}
					}
					return true
				})
			}
		}
		return nil, nil
	}}

// orderSeen says by what a loop in a declaration shows the order in which it runs; "" by nothing.
func orderSeen(pass *analysis.Pass, in ast.Decl, loop *ast.RangeStmt) (what string) {
	if calls(pass, loop.Body, isSaid) {
		return "it is printed or reported"
	}
	outside := func(e ast.Expr) types.Object {
		name, ok := e.(*ast.Ident)
		if !ok {
			return nil
		}
		if o := pass.TypesInfo.ObjectOf(name); o != nil && (o.Pos() < loop.Pos() || o.Pos() > loop.End()) {
			return o
		}
		return nil
	}
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			return true
		}
		to := outside(assign.Lhs[0])
		if to == nil {
			return true
		}
		basic, _ := to.Type().Underlying().(*types.Basic)
		call, _ := assign.Rhs[0].(*ast.CallExpr)
		switch {
		case assign.Tok == token.ADD_ASSIGN && basic != nil && basic.Info()&types.IsFloat != 0:
			what = "it adds up fractions"
		case call != nil && isAppend(pass, call) && !sorted(pass, in, to):
			what = "it appends to " + to.Name() + ", which is not sorted"
		}
		return true
	})
	return what
}

// isSaid reports whether a function says something: to the user, or to a writer.
func isSaid(f *types.Func) bool {
	switch f.Name() {
	case "Warn", "Say", "WriteString", "Fprint", "Fprintf", "Fprintln":
		return true
	}
	return strings.HasSuffix(f.FullName(), "fio.Faults).Add")
}

func isAppend(pass *analysis.Pass, call *ast.CallExpr) bool {
	b, ok := typeutil.Callee(pass.TypesInfo, call).(*types.Builtin)
	return ok && b.Name() == "append"
}

// sorted reports whether a declaration passes a variable to a function that sorts.
func sorted(pass *analysis.Pass, in ast.Decl, v types.Object) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found {
			return !found
		}
		f, ok := typeutil.Callee(pass.TypesInfo, call).(*types.Func)
		if !ok || !strings.Contains(f.Name(), "Sort") && (f.Pkg() == nil || f.Pkg().Path() != "sort") {
			return true
		}
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				name, ok := n.(*ast.Ident)
				found = found || ok && pass.TypesInfo.ObjectOf(name) == v
				return !found
			})
		}
		return !found
	})
	return found
}

// hidden finds if statements whose first part changes a variable of outside: an assignment deserves a line of its own.
// Go's idiom `if err = f(); err != nil` stays, and so does what follows an else.
var hidden = &analysis.Analyzer{Name: "hidden", Doc: "an assignment is seen where a line begins with it",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			if isTest(pass.Fset.Position(f.Pos()).Filename) {
				continue
			}
			after := map[ast.Stmt]bool{} // else
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.IfStmt)
				if !ok {
					return true
				}
				after[s.Else] = true
				assign, ok := s.Init.(*ast.AssignStmt)
				_, counts := s.Init.(*ast.IncDecStmt)
				if (counts || ok && assign.Tok != token.DEFINE && !asksError(assign, s.Cond)) && !after[s] {
					pass.Reportf(s.Pos(), "the condition hides an assignment: put it in a line before")
				}
				return true
			})
		}
		return nil, nil
	}}

// asksError reports whether a condition compares the error that is assigned with nil.
func asksError(a *ast.AssignStmt, cond ast.Expr) bool {
	to, ok := a.Lhs[len(a.Lhs)-1].(*ast.Ident)
	c, compares := cond.(*ast.BinaryExpr)
	if !ok || !compares || !strings.HasPrefix(strings.ToLower(to.Name), "err") {
		return false
	}
	x, okX := c.X.(*ast.Ident)
	y, okY := c.Y.(*ast.Ident)
	return okX && okY && x.Name == to.Name && y.Name == "nil"
}

const (
	maxWidth = 120
	tabWidth = 4
)

// message matches a text that is in one piece so that it can be searched for.
var message = regexp.MustCompile(`"[^"]{40,}"`)

var width = &analysis.Analyzer{Name: "width", Doc: "a line of more than 120 columns is read by nobody",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			tf := pass.Fset.File(f.Pos())
			if ast.IsGenerated(f) {
				continue
			}
			data, err := pass.ReadFile(tf.Name())
			if err != nil {
				return nil, err
			}
			for i, l := range strings.Split(string(data), "\n") {
				n := utf8.RuneCountInString(l) + (tabWidth-1)*strings.Count(l, "\t")
				if n > maxWidth && !message.MatchString(l) && i < tf.LineCount() {
					pass.Reportf(tf.LineStart(i+1), "%d columns, want at most %d", n, maxWidth)
				}
			}
		}
		return nil, nil
	}}
