package p2p

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"

	"sotto/config"
)

// Proxy is an HTTP proxy through which connections are made by CONNECT (RFC 9110 section
// 9.3.6). It sees addresses, sizes and times; what passes is encrypted between members.
type Proxy struct {
	address string // host:port
	secure  bool   // the proxy itself speaks TLS
	user    *url.Userinfo
}

// ParseProxy reads http://host:port or https://host:port. Name and password come from a
// file of one line "name:password", so that they stand in no list of processes; "" means
// none.
func ParseProxy(at, authFile string) (*Proxy, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, config.Bad("proxy", redact(u, at),
			"http://host:port or https://host:port, without a password")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	p := &Proxy{address: net.JoinHostPort(u.Hostname(), port), secure: u.Scheme == "https"}
	return p, p.authenticate(authFile)
}

// ProxyFromEnvironment reads the variable HTTPS_PROXY, whose address may hold a name and
// a password. It is read where an owner asks for it, and never else.
func ProxyFromEnvironment() (*Proxy, error) {
	at := cmp.Or(os.Getenv("HTTPS_PROXY"), os.Getenv("https_proxy"))
	u, err := url.Parse(at)
	if err != nil || at == "" {
		return nil, config.Bad("proxy", "env", "env where HTTPS_PROXY holds http://host:port")
	}
	user := u.User
	u.User = nil
	p, err := ParseProxy(u.String(), "")
	if err != nil {
		return nil, err
	}
	p.user = user
	return p, nil
}

// authenticate reads name and password.
func (p *Proxy) authenticate(authFile string) error {
	if authFile == "" {
		return nil
	}
	b, err := os.ReadFile(authFile)
	if err != nil {
		return err
	}
	name, password, ok := strings.Cut(strings.TrimRight(string(b), "\r\n"), ":")
	if !ok || name == "" || strings.ContainsAny(password, "\r\n") {
		return &config.Error{File: authFile, Found: fmt.Sprintf("%d bytes of another form", len(b)),
			Allowed: "one line, name:password"}
	}
	p.user = url.UserPassword(name, password)
	return nil
}

// redact keeps a password out of an error, also where an address cannot be read.
func redact(u *url.URL, text string) string {
	if u != nil && u.User != nil {
		return u.Redacted()
	}
	if at := strings.LastIndex(text, "@"); at >= 0 {
		return "..." + text[at:]
	}
	return text
}

// dialer implements tcp.DialerForAddr.
func (p *Proxy) dialer(ma.Multiaddr) (tcp.ContextDialer, error) { return p, nil }

// DialContext connects to an address through the proxy.
func (p *Proxy) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, fmt.Errorf("the proxy: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	tunnel, err := p.connect(ctx, c, address)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("the proxy at %s: %w", p.address, err)
	}
	return tunnel, nil
}

// maxProxyHead is how long a proxy's answer may be.
const maxProxyHead = 64 << 10

func (p *Proxy) connect(ctx context.Context, c net.Conn, address string) (net.Conn, error) {
	if p.secure {
		name, _, _ := net.SplitHostPort(p.address) // put together above
		s := tls.Client(c, &tls.Config{ServerName: name})
		if err := s.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		c = s
	}
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
		Header: http.Header{"User-Agent": {"sotto"}}}
	if p.user != nil {
		password, _ := p.user.Password()
		auth := http.Request{Header: http.Header{}}
		auth.SetBasicAuth(p.user.Username(), password)
		r.Header.Set("Proxy-Authorization", auth.Header.Get("Authorization"))
	}
	if err := r.Write(c); err != nil {
		return nil, err
	}
	head := &io.LimitedReader{R: c, N: maxProxyHead}
	b := bufio.NewReader(head)
	answer, err := http.ReadResponse(b, r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("CONNECT %s: answer %q", address, answer.Status)
	}
	if b.Buffered() == 0 {
		return c, nil
	}
	early, _ := b.Peek(b.Buffered()) // the other end has spoken already
	return &tunnel{c, io.MultiReader(strings.NewReader(string(early)), c)}, nil
}

// tunnel is a connection of which some bytes were read already.
type tunnel struct {
	net.Conn
	r io.Reader
}

// Read implements net.Conn.
func (t *tunnel) Read(b []byte) (int, error) { return t.r.Read(b) }
