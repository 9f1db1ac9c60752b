package plan

import (
	"fmt"

	"fiolat/fio"
)

// warn adds a warning, which reportWarnings reports.
func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// reportWarnings reports the warnings that were not reported yet; the Account has one for each cause.
func (p *Plan) reportWarnings() {
	each := p.Warnings[p.warned:]
	p.warned = len(p.Warnings)
	p.Account.Warnings = append(p.Account.Warnings, fio.ByCause(each)...)
	if p.cfg.Warn == nil {
		return
	}
	if p.cfg.Together != nil {
		defer p.cfg.Together()()
	}
	for _, w := range each {
		p.cfg.Warn(w)
	}
}
