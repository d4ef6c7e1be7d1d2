//go:build !linux

package main

import "errors"

// within calls f in a network namespace, which only Linux has.
func within(string, func() error) error { return errors.ErrUnsupported }
