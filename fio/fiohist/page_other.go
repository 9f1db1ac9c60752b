//go:build !amd64

package fiohist

func (p *page) add(q *page) { p.addEach(q) }
