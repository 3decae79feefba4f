package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// shortestToken is what a token must have at least: 16 characters of a hexadecimal number are 64 bits.
const shortestToken = 16

// token gives what POST /run asks for, anew with every call; nil where nothing is set.
func (c Config) token(environ map[string]string, by given) (func() (string, error), []error) {
	flag := !blank(by.flags["EBB_TOKEN_FILE"])
	var read func() (string, error)
	switch {
	case c.TokenFile != "" && c.Token.isSet() && !flag:
		return nil, []error{errors.New("EBB_TOKEN and EBB_TOKEN_FILE are both set; unset one of them")}
	case c.TokenFile != "":
		name := "EBB_TOKEN_FILE"
		if flag {
			name = "--token-file"
		}
		read = func() (string, error) {
			text, err := os.ReadFile(c.TokenFile)
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			return goodToken("the token in "+name, string(text))
		}
	case c.Token.isSet():
		read = func() (string, error) { return goodToken("EBB_TOKEN", c.Token.reveal()) }
	default:
		return nil, nil
	}
	if _, err := read(); err != nil {
		return nil, []error{err}
	}
	return read, nil
}

// goodToken looks whether a token can be sent and is worth asking for. No error has any piece of it.
func goodToken(name, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", fmt.Errorf("%s is blank; write one there, say the output of: openssl rand -hex 32", name)
	case isQuoted(text):
		return "", fmt.Errorf("%s is in quotes, which would be part of it; take them away", name)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s has white space or a character in it that a header cannot carry; use say the output of: openssl rand -hex 32", name)
	case len(text) < shortestToken:
		return "", fmt.Errorf("%s is shorter than %d characters; use say the output of: openssl rand -hex 32", name, shortestToken)
	}
	return text, nil
}
