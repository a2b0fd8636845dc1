package live

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
)

// stayingPath begins the address of a page that stays. The page may be of somebody else,
// and send the address where it likes: it opens that page, and nothing else.
const stayingPath = "/stays/"

// stayingKey is what the address of the page of a request's source has in place of the
// token, which does not follow from it.
func (s *Server) stayingKey(r *http.Request) string {
	h := hmac.New(sha256.New, []byte(s.opt.Token))
	source, cell := r.FormValue("s"), r.FormValue("cell")
	fmt.Fprintf(h, "staying\x00%s\x00%s", source, cell)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// staying leads to the page that a finished run has left.
func (s *Server) staying(w http.ResponseWriter, r *http.Request) {
	if src, err := s.source(r); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	} else if _, ok := src.page(); !ok {
		http.Error(w, "there is no page yet", http.StatusNotFound)
		return
	}
	to := url.URL{Path: stayingPath + s.stayingKey(r), RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// stays is that page.
func (s *Server) stays(w http.ResponseWriter, r *http.Request, key string) {
	if subtle.ConstantTimeCompare([]byte(key), []byte(s.stayingKey(r))) != 1 {
		http.Error(w, "the address needs the key that the live page gives it", http.StatusForbidden)
		return
	}
	src, err := s.source(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	name, ok := src.page()
	if !ok {
		http.Error(w, "there is no page yet", http.StatusNotFound)
		return
	}
	b, err := os.ReadFile(name)
	if err != nil {
		http.Error(w, "the page is not there", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Security-Policy", stayingPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b)
}
