package esmodel

import (
	"bytes"
	"fmt"
	"strconv"
)

// numberList is an array of numbers that is decoded without reflection, because a leaf has hundreds of them.
type numberList[T int | float64] []T

// powers are the powers of ten that a number of quickDigits bytes may be divided by. All are exact.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18}

// quickDigits is the length in bytes up to which the digits of a number always fit into a uint64.
const quickDigits = 19

// UnmarshalJSON relies on the decoder to check the syntax. Digits that make a whole number below 2^53 are
// divided by their power of ten, which rounds once (Clinger, "How to Read Floating Point Numbers Accurately",
// 1990); strconv parses all others.
func (n *numberList[T]) UnmarshalJSON(array []byte) (err error) {
	if array[0] != '[' {
		return fmt.Errorf("%.20s is not an array", array)
	}
	rest := bytes.TrimSpace(array[1 : len(array)-1])
	*n = nil
	if len(rest) == 0 {
		return nil
	}
	_, whole := any(T(0)).(int)
	*n = make([]T, bytes.Count(rest, []byte{','})+1)
	for i := range *n {
		digits, places, point, end := uint64(0), 0, 0, 0
		for ; end < len(rest); end++ {
			if d := rest[end] - '0'; d <= 9 {
				digits, places = digits*10+uint64(d), places+point
			} else if rest[end] == '.' && !whole {
				point = 1
			} else {
				break
			}
		}
		if 0 < end && end <= quickDigits && digits < 1<<53 && (end == len(rest) || rest[end] == ',') {
			(*n)[i] = T(float64(digits) / powers[places])
		} else {
			end = bytes.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			number := string(bytes.TrimSpace(rest[:end]))
			switch v := any(&(*n)[i]).(type) {
			case *int:
				*v, err = strconv.Atoi(number)
			case *float64:
				*v, err = strconv.ParseFloat(number, 64)
			}
			if err != nil {
				return err
			}
		}
		rest = rest[min(end+1, len(rest)):]
	}
	return nil
}
