// Package validate holds what deploy makes against the platforms' own types, checkers and emulators. It is a module of
// its own, so that whoever uses ebb as a library does not get theirs.
package validate
