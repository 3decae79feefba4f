//go:build race

package schedule

// raced says that the race detector is on, with which nothing is quick.
const raced = true
