// Package jobfile reads fio's job files: sections, their options, threads, groups and stages.
package jobfile
