// Package fio is the vocabulary of fiolat: directions, kinds of latency, metrics, rules, errors. Names and settings of
// users come in; values that all packages share go out. It does no I/O and knows no log.
//
// Whatever goes through the directions does so over the lists here, and arrays that have an element for each are
// sized by Directions: a new one is added in this package alone.
package fio
