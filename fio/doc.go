// Package fio is the vocabulary of fiolat: directions, kinds of latency, and what all packages call them.
//
// Whatever goes through the directions does so over the lists here, and arrays that have an element for each are
// sized by Directions: a new one is added in this package alone.
package fio
