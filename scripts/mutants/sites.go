package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A site is an expression or a statement that a mutant replaces.
type site struct {
	pkg, fn, kind, was string // package without "fiolat/", function, what is changed, the text that is replaced
	nth                int    // of the sites with all of these alike
	path               string
	line               int
	start, end         int // bytes in the file
	gen                func(id int) string
	id                 int
}

// key tells a site from all others, also after lines were added above it.
func (s *site) key() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%d", s.pkg, s.fn, s.kind, s.was, s.nth)
}

// A room is a package of the binary.
type room struct {
	path  string
	lines int
	sites []*site
}

// rooms finds the sites of all packages of fiolat that are in its binary, without the tables that protoc made.
func rooms(ctx context.Context, root string) ([]*room, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles",
		"./cmd/fiolat")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var own []listed
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, "fiolat/") && !strings.HasSuffix(p.ImportPath, "descriptors") {
			own = append(own, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var found []*room
	for _, p := range own {
		r := &room{path: strings.TrimPrefix(p.ImportPath, "fiolat/")}
		var files []*ast.File
		texts := map[*ast.File][]byte{}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
			texts[f] = src
			r.lines += strings.Count(string(src), "\n")
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		conf := types.Config{Importer: imports, Sizes: types.SizesFor("gc", "amd64")}
		if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil {
			return nil, err
		}
		for _, f := range files {
			w := &walker{fset: fset, src: texts[f], info: info, room: r}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && fn.Name.Name != "init" {
					w.function(fn)
				}
			}
		}
		alike := map[string]int{}
		for _, s := range r.sites {
			k := s.key()
			s.nth = alike[k]
			alike[k]++
		}
		found = append(found, r)
	}
	return found, nil
}

// draw chooses about n sites, from each room as many as its share of the lines. A site's place in the order of a seed
// hangs on nothing but its key, so that the same sites are drawn again while their code stays as it is.
func draw(rooms []*room, n int, seed string, unfit map[string]bool) []*site {
	lines := 0
	for _, r := range rooms {
		lines += r.lines
	}
	var chosen []*site
	sum, had := 0, 0
	for _, r := range rooms {
		sum += r.lines
		quota := n*sum/lines - had
		had += quota
		order := map[*site]string{}
		for _, s := range r.sites {
			h := sha256.Sum256([]byte(seed + "\x00" + s.key()))
			order[s] = string(h[:])
		}
		sorted := slices.SortedFunc(slices.Values(r.sites), func(a, b *site) int {
			return strings.Compare(order[a], order[b])
		})
		var taken []*site
		for _, s := range sorted {
			overlaps := func(t *site) bool { return s.path == t.path && s.start < t.end && t.start < s.end }
			if len(taken) < quota && !unfit[s.key()] && !slices.ContainsFunc(taken, overlaps) {
				taken = append(taken, s)
			}
		}
		slices.SortFunc(taken, func(a, b *site) int {
			if a.path != b.path {
				return strings.Compare(a.path, b.path)
			}
			return a.start - b.start
		})
		chosen = append(chosen, taken...)
	}
	for i, s := range chosen {
		s.id = i + 1
	}
	return chosen
}

var packageLine = regexp.MustCompile(`(?m)^package \w+`)

// plant writes the sites as switches into the files of the tree at root.
func plant(root string, sites []*site, unit string) error {
	for i := len(sites) - 1; i >= 0; i-- { // from the end of each file, so that offsets stay right
		s := sites[i]
		src, err := os.ReadFile(s.path)
		if err != nil {
			return err
		}
		text := string(src[:s.start]) + s.gen(s.id) + string(src[s.end:])
		if i == 0 || sites[i-1].path != s.path {
			at := packageLine.FindStringIndex(text)[1]
			text = text[:at] + `; import mut "fiolat/internal/mut"` + text[at:]
		}
		if err := os.WriteFile(s.path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	dir := filepath.Join(root, "internal", "mut")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "mut.go"), []byte(unit), 0o644)
}

// A walker collects the sites of a file.
type walker struct {
	fset    *token.FileSet
	src     []byte
	info    *types.Info
	room    *room
	fn      string
	stack   []ast.Node
	results []*ast.FieldList // of the functions around
}

func (w *walker) function(fn *ast.FuncDecl) {
	w.fn, w.results = fn.Name.Name, []*ast.FieldList{fn.Type.Results}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if n == nil {
			top := w.stack[len(w.stack)-1]
			w.stack = w.stack[:len(w.stack)-1]
			if _, ok := top.(*ast.FuncLit); ok {
				w.results = w.results[:len(w.results)-1]
			}
			return true
		}
		w.visit(n)
		w.stack = append(w.stack, n)
		if f, ok := n.(*ast.FuncLit); ok {
			w.results = append(w.results, f.Type.Results)
		}
		return true
	})
}

func (w *walker) offset(p token.Pos) int { return w.fset.Position(p).Offset }

func (w *walker) text(n ast.Node) string { return string(w.src[w.offset(n.Pos()):w.offset(n.End())]) }

func (w *walker) add(kind string, n ast.Node, gen func(id int) string) {
	p := w.fset.Position(n.Pos())
	w.room.sites = append(w.room.sites, &site{pkg: w.room.path, fn: w.fn, kind: kind, was: w.text(n), path: p.Filename,
		line: p.Line, start: p.Offset, end: w.offset(n.End()), gen: gen})
}

func (w *walker) parent() ast.Node {
	if len(w.stack) == 0 {
		return nil
	}
	return w.stack[len(w.stack)-1]
}

// inList reports whether a statement stands in a list of statements, where an if statement may stand, too.
func (w *walker) inList(n ast.Stmt) bool {
	switch p := w.parent().(type) {
	case nil, *ast.BlockStmt, *ast.CaseClause:
		return true
	case *ast.CommClause:
		return p.Comm != n
	}
	return false
}

func (w *walker) constant(e ast.Expr) bool { return w.info.Types[e].Value != nil }

// constantAround reports whether the parent expressions of a literal, or a declaration, want a constant.
func (w *walker) constantAround() bool {
	for _, n := range slices.Backward(w.stack) {
		switch n := n.(type) {
		case *ast.GenDecl, *ast.ArrayType:
			return true
		case ast.Expr:
			if w.constant(n) {
				return true
			}
		default:
			return false
		}
	}
	return false
}

func (w *walker) basic(e ast.Expr) *types.Basic {
	t := w.info.Types[e].Type
	if _, ok := t.(*types.TypeParam); ok || t == nil {
		return nil
	}
	b, _ := t.Underlying().(*types.Basic)
	return b
}

var (
	bounds = map[token.Token]string{token.LSS: "Less", token.LEQ: "LessOrEqual", token.GTR: "Greater",
		token.GEQ: "GreaterOrEqual"}
	sums = map[token.Token]string{token.ADD: "Add", token.SUB: "Subtract", token.MUL: "Multiply",
		token.QUO: "Divide"}
	inverse = map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=",
		token.QUO_ASSIGN: "*="}
)

func (w *walker) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		w.condition(n.Cond)
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.BasicLit:
		w.literal(n)
	case *ast.ExprStmt:
		if s := w.text(n); !strings.HasPrefix(s, "panic(") && !strings.HasPrefix(s, "os.Exit(") {
			w.removed("call", n)
		}
	case *ast.DeferStmt:
		w.removed("defer", n)
	case *ast.BranchStmt:
		if n.Tok == token.BREAK || n.Tok == token.CONTINUE {
			w.removed(n.Tok.String(), n)
		}
	case *ast.IncDecStmt:
		w.removed("count", n)
	case *ast.AssignStmt:
		w.assignment(n)
	case *ast.ReturnStmt:
		w.returned(n)
	case *ast.CallExpr:
		w.arguments(n)
	}
}

func (w *walker) removed(what string, n ast.Stmt) {
	if w.inList(n) {
		s := w.text(n)
		w.add("without "+what, n, func(id int) string { return fmt.Sprintf("if !mut.On(%d) { %s }", id, s) })
	}
}

func (w *walker) condition(cond ast.Expr) {
	c := w.text(cond)
	switch {
	case w.constant(cond):
	case strings.Contains(c, "err != nil") && len(c) < 30:
		w.add("error dropped", cond, func(id int) string { return fmt.Sprintf("(%s) && !mut.On(%d)", c, id) })
	default:
		w.add("condition negated", cond, func(id int) string { return fmt.Sprintf("mut.On(%d) != (%s)", id, c) })
		w.add("condition false", cond, func(id int) string { return fmt.Sprintf("(%s) && !mut.On(%d)", c, id) })
		w.add("condition true", cond, func(id int) string { return fmt.Sprintf("(%s) || mut.On(%d)", c, id) })
	}
}

func (w *walker) binary(n *ast.BinaryExpr) {
	if w.constant(n) {
		return
	}
	x, y, s := w.text(n.X), w.text(n.Y), w.text(n)
	switch n.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if w.basic(n.X) != nil && w.basic(n.Y) != nil {
			w.add("boundary", n, func(id int) string { return fmt.Sprintf("mut.%s(%d, %s, %s)", bounds[n.Op], id, x, y) })
		}
	case token.EQL, token.NEQ:
		if i, ok := w.parent().(*ast.IfStmt); !ok || i.Cond != n {
			w.add("equality negated", n, func(id int) string { return fmt.Sprintf("(mut.On(%d) != (%s))", id, s) })
		}
	case token.LAND:
		w.add("and for or", n, func(id int) string {
			return fmt.Sprintf("(mut.On(%d) && ((%s) || (%s)) || !mut.On(%d) && (%s) && (%s))", id, x, y, id, x, y)
		})
	case token.LOR:
		w.add("and for or", n, func(id int) string {
			return fmt.Sprintf("(mut.On(%d) && (%s) && (%s) || !mut.On(%d) && ((%s) || (%s)))", id, x, y, id, x, y)
		})
	case token.ADD, token.SUB, token.MUL, token.QUO:
		if b := w.basic(n); b != nil && b.Info()&types.IsNumeric != 0 && b.Info()&types.IsUntyped == 0 {
			w.add("arithmetic", n, func(id int) string { return fmt.Sprintf("mut.%s(%d, %s, %s)", sums[n.Op], id, x, y) })
		}
	}
}

func (w *walker) literal(n *ast.BasicLit) {
	t, ok := w.info.Types[n].Type.(*types.Basic)
	if !ok || t.Info()&types.IsNumeric == 0 || t.Info()&types.IsUntyped != 0 || w.constantAround() {
		return
	}
	switch p := w.parent().(type) {
	case *ast.IndexExpr, *ast.SliceExpr:
		if n.Value != "0" && n.Value != "1" {
			return
		}
	case *ast.CompositeLit, *ast.KeyValueExpr, *ast.CaseClause:
		return
	case *ast.BinaryExpr:
		if p.Op == token.SHL || p.Op == token.SHR {
			return
		}
	}
	w.add("one more", n, func(id int) string { return fmt.Sprintf("mut.More[%s](%d, %s)", t.Name(), id, n.Value) })
}

func (w *walker) assignment(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE || !w.inList(n) || w.text(n.Lhs[0]) == "_" {
		return
	}
	w.removed("assignment", n)
	b := w.basic(n.Lhs[0])
	if op := inverse[n.Tok]; op != "" && b != nil && b.Info()&types.IsNumeric != 0 {
		l, r, s := w.text(n.Lhs[0]), w.text(n.Rhs[0]), w.text(n)
		w.add("arithmetic", n, func(id int) string {
			return fmt.Sprintf("if mut.On(%d) { %s %s %s } else { %s }", id, l, op, r, s)
		})
	}
}

func (w *walker) returned(n *ast.ReturnStmt) {
	list := w.results[len(w.results)-1]
	if !w.inList(n) || list == nil || len(n.Results) == 0 {
		return
	}
	var kinds, zeros, values []string
	for _, f := range list.List {
		for range max(len(f.Names), 1) {
			kinds = append(kinds, w.text(f.Type))
			zeros = append(zeros, "*new("+w.text(f.Type)+")")
		}
	}
	allZero := true
	for _, r := range n.Results {
		t := w.text(r)
		v := w.info.Types[r].Value
		allZero = allZero && (t == "nil" || t == "false" || t == `""` ||
			v != nil && v.Kind() == constant.Int && constant.Sign(v) == 0)
		values = append(values, t)
	}
	s, last := w.text(n), len(kinds)-1
	switch {
	case len(values) == len(kinds) && kinds[last] == "error" && values[last] != "nil":
		values[last] = "nil"
		w.add("no error returned", n, func(id int) string {
			return fmt.Sprintf("if mut.On(%d) { return %s }; %s", id, strings.Join(values, ", "), s)
		})
	case len(values) == 1 && len(kinds) == 1 && kinds[0] == "bool":
		w.add("answer negated", n, func(id int) string {
			return fmt.Sprintf("return mut.On(%d) != (%s)", id, values[0])
		})
	case !allZero:
		w.add("zero returned", n, func(id int) string {
			return fmt.Sprintf("if mut.On(%d) { return %s }; %s", id, strings.Join(zeros, ", "), s)
		})
	}
}

// arguments swaps the first two neighbors of the same type.
func (w *walker) arguments(n *ast.CallExpr) {
	if f := w.info.Types[n.Fun]; n.Ellipsis.IsValid() || f.IsBuiltin() || f.IsType() {
		return
	}
	for i := range len(n.Args) - 1 {
		a, b := n.Args[i], n.Args[i+1]
		ta, tb := w.info.Types[a], w.info.Types[b]
		sa, sb := w.text(a), w.text(b)
		if !named(a) || !named(b) || sa == sb || ta.Value != nil || tb.Value != nil || ta.Type == nil ||
			tb.Type == nil || !types.Identical(ta.Type, tb.Type) {
			continue
		}
		whole, base := w.text(n), w.offset(n.Pos())
		at := func(p token.Pos) int { return w.offset(p) - base }
		w.add("arguments swapped", n, func(id int) string {
			return whole[:at(a.Pos())] + fmt.Sprintf("mut.If(%d, %s, %s)", id, sa, sb) +
				whole[at(a.End()):at(b.Pos())] + fmt.Sprintf("mut.If(%d, %s, %s)", id, sb, sa) + whole[at(b.End()):]
		})
		return
	}
}

// named reports whether an expression is a name, or a field of one.
func named(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "nil"
	case *ast.SelectorExpr:
		return named(e.X)
	}
	return false
}
