package report

// Packs is how often the numbers were packed.
func (s *Sink) Packs() int { return s.packs }

// Columns is how many columns are complete.
func (s *Sink) Columns() int { return s.col }
