// Package jobs has the operators' statements: what is in the queues. Each function is one exchange on a connection of
// the caller's, returns plain structs, and changes nothing.
package jobs
