//go:build !linux

package command

// ReapStrays does nothing: the first process of a container is one of Linux.
func (r *Running) ReapStrays() (stop func()) { return func() {} }
