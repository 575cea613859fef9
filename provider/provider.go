// Package provider holds what every adapter needs to reach its endpoint: the
// address, the key, the HTTP client and the rules for a retry.
//
// It sends nothing itself and reads no environment: keys, proxies, clock and
// randomness are passed in. The adapters are the packages below it.
package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrInvalid is wrapped by errors about a Connection.
var ErrInvalid = errors.New("invalid connection")

// A Connection says how an adapter reaches its endpoint. The zero value of
// every field but Endpoint has a meaning.
type Connection struct {
	// Endpoint is the base URL: HTTPS, or HTTP on this machine.
	Endpoint string
	// Key goes to this endpoint only. The zero Key sends none.
	Key Key
	// Client makes the requests; nil means NewClient(nil). Redirects are never
	// followed, whatever the client says: they would carry the key elsewhere.
	Client *http.Client
	// Header holds more header fields for every request.
	Header http.Header
	// Retry bounds the retries.
	Retry Retry
	// IdleTimeout ends a stream that says nothing for so long; zero means ten
	// minutes. A model may think for minutes before its first word.
	IdleTimeout time.Duration
	// Now, Sleep and Random are clock, waiting and jitter, [0, 1); nil means
	// the real ones. Sleep returns early with an error when ctx ends.
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Random func() float64
}

// Retry bounds how often a request is made again, which happens only before
// the first event of an answer and only for faults of connection and server
// and for 429.
type Retry struct {
	// Attempts is how many requests are made at most; zero means 4, one means
	// no retry.
	Attempts int
	// Wait is the wait before the first retry, doubled for each later one and
	// shortened by up to a half at random; zero means 500 ms.
	Wait time.Duration
	// MaxWait bounds each wait; zero means one minute. A provider that asks
	// for a longer wait gets no retry.
	MaxWait time.Duration
}

// NewClient returns an HTTP client for streams that may take long. proxy picks
// the proxy for a request, usually http.ProxyFromEnvironment; nil means none.
func NewClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               proxy,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        16,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
	}}
}

// ParseEndpoint checks a base URL: HTTPS, or HTTP to this machine, without
// user, query and fragment. A slash at the end is taken off.
func ParseEndpoint(endpoint string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(endpoint))
	if err != nil {
		return nil, fmt.Errorf("%w: the endpoint is no URL", ErrInvalid) // the cause would repeat what may hold a key
	}
	switch {
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%w: the endpoint must have no user, query or fragment", ErrInvalid)
	case u.Host == "":
		return nil, fmt.Errorf("%w: the endpoint %q has no host", ErrInvalid, endpoint)
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
	default:
		return nil, fmt.Errorf("%w: the endpoint %q must use https, or http on this machine", ErrInvalid, endpoint)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// A Key is a secret that is bound to one endpoint. It never prints: formatting,
// JSON and structured records show a stand-in. The zero Key is no key.
type Key struct{ secret, origin string }

// NewKey binds a secret to the scheme, host and port of an endpoint.
func NewKey(secret, endpoint string) (Key, error) {
	u, err := ParseEndpoint(endpoint)
	if err != nil {
		return Key{}, err
	}
	if secret = strings.TrimSpace(secret); secret == "" {
		return Key{}, fmt.Errorf("%w: the key is empty", ErrInvalid)
	}
	for _, r := range secret {
		if r <= ' ' || r > '~' {
			return Key{}, fmt.Errorf("%w: the key holds a space or a character that no key has", ErrInvalid)
		}
	}
	return Key{secret: secret, origin: origin(u)}, nil
}

// origin is scheme, host and port, with the default port spelled out.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.secret == "" }

// Reveal returns the secret for a request to u. It fails for another endpoint
// than the one the key is bound to.
func (k Key) Reveal(u *url.URL) (string, error) {
	if k.secret == "" {
		return "", nil
	}
	if origin(u) != k.origin {
		return "", fmt.Errorf("%w: the key is for %s and does not go to %s", ErrInvalid, k.origin, origin(u))
	}
	return k.secret, nil
}

const hidden = "[key]"

// String returns a stand-in.
func (k Key) String() string {
	if k.IsZero() {
		return "[no key]"
	}
	return hidden
}

// Format writes the stand-in, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText returns the stand-in.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue returns the stand-in.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Redact replaces the secret in foreign bytes: a server may repeat the key it
// was sent.
func (k Key) Redact(text string) string {
	if k.IsZero() {
		return text
	}
	return strings.ReplaceAll(text, k.secret, hidden)
}
