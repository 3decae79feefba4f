package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
)

// admit says whether a call is taken: a status of 0, or the one to refuse it with, and why.
func (c *calls) admit(r *http.Request) (status int, why string) {
	if c.Token == nil {
		if c.Function {
			return 0, ""
		}
		return http.StatusForbidden, "ebb takes no calls, since it has no token to ask for; set its EBB_TOKEN or EBB_TOKEN_FILE"
	}
	token, err := c.Token()
	if err != nil {
		c.strangers.note(slog.LevelError, "a call was refused, since the token cannot be read", "error", err)
		return http.StatusServiceUnavailable, "ebb cannot read its token; see its log"
	}
	if !bears(r.Header.Get("Authorization"), token) {
		c.strangers.note(slog.LevelInfo, "a call without the right token was refused", "from", r.RemoteAddr)
		return http.StatusUnauthorized, "send the header Authorization: Bearer <token>, with the token that ebb has from EBB_TOKEN or EBB_TOKEN_FILE"
	}
	return 0, ""
}

// bears says whether a header brings the token. It takes as long for a token that is nearly right as for any other of
// its length, and tells nothing of the length of the right one.
func bears(header, token string) bool {
	scheme, brought, _ := strings.Cut(header, " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(brought))), sha256.Sum256([]byte(token))
	same := subtle.ConstantTimeCompare(got[:], want[:]) == 1
	return same && strings.EqualFold(scheme, "Bearer") && token != ""
}
