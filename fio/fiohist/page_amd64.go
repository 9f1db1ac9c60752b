package fiohist

import "golang.org/x/sys/cpu"

// add adds q to p.
func (p *page) add(q *page) {
	if cpu.X86.HasAVX2 {
		addPage(p, q)
		return
	}
	p.addEach(q)
}

// addPage is addEach with AVX2, four buckets at a time.
//
//go:noescape
func addPage(p, q *page)
