package pipeline

import "fiolat/fio"

// Settings are fio.Settings.
type Settings = fio.Settings

// Defaults is fio.Defaults.
func Defaults() Settings { return fio.Defaults() }
