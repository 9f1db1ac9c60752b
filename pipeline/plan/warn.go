package plan

import (
	"fmt"

	"fiolat/fio"
)

// warn adds a warning. reportWarnings reports it with the others of its cause.
func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// reportWarnings reports the warnings that were not reported yet, in one line for each cause.
func (p *Plan) reportWarnings() {
	each := p.Warnings[p.warned:]
	merged := fio.ByCause(each)
	p.Account.Warnings = append(p.Account.Warnings, merged...)
	if !p.cfg.Verbose {
		each = merged
	}
	for _, w := range each {
		if p.cfg.Warn != nil {
			p.cfg.Warn(w)
		}
	}
	p.warned = len(p.Warnings)
}
