package report

// Packs is how often the numbers were packed.
func (s *Sink) Packs() int { return s.packs }
