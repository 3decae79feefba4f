package cli

import (
	"errors"
	"fmt"
	"strings"
)

// shortestToken is what a token should have at least: 16 characters of a hexadecimal number are 64 bits.
const shortestToken = 16

const aToken = "say the output of: openssl rand -hex 32"

// token gives what a call is asked for, anew with every call; nil where nothing is set.
func (c Config) token(by given) (func() (string, error), error) {
	flag := !blank(by.flags["EBB_TOKEN_FILE"])
	var read func() (string, error)
	switch {
	case c.TokenFile != "" && c.Token.isSet() && !flag:
		return nil, errors.New("EBB_TOKEN and EBB_TOKEN_FILE are both set; unset one of them")
	case c.TokenFile != "":
		name := "EBB_TOKEN_FILE"
		if flag {
			name = "--token-file"
		}
		read = func() (string, error) {
			text, err := readPlain(c.TokenFile)
			if err != nil {
				return "", fmt.Errorf("%s: %w; write a token there, %s", name, err, aToken)
			}
			c.secrets.Learn(string(text))
			return goodToken("the token in "+name, string(text))
		}
	case c.Token.isSet():
		read = func() (string, error) { return goodToken("EBB_TOKEN", c.Token.reveal()) }
	default:
		return nil, nil
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	return read, nil
}

// blankToken refuses what elsewhere counts as unset, for where calls without a token are taken when none is set: there it
// would open to everybody what somebody meant to close.
func blankToken(environ map[string]string) error {
	var mistakes []error
	for _, v := range []struct{ name, to string }{
		{"EBB_TOKEN", ", say to the output of: openssl rand -hex 32"},
		{"EBB_TOKEN_FILE", " to the file that holds the token, for example /run/secrets/ebb-token"},
	} {
		if text, there := environ[v.name]; there && blank(text) {
			mistakes = append(mistakes, fmt.Errorf("%s is there but blank; set it%s, or unset it", v.name, v.to))
		}
	}
	return errors.Join(mistakes...)
}

// goodToken looks whether a token can be sent. No error has any piece of it.
func goodToken(name, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", fmt.Errorf("%s is blank; write one there, %s", name, aToken)
	case isQuoted(text):
		return "", fmt.Errorf("%s is in quotes, which would be part of it; take them away", name)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s has white space or a character in it that a header cannot carry; use another one, %s", name, aToken)
	}
	return text, nil
}
