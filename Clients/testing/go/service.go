package carillontest

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// carillon is a service: one that was started for the tests, or one that runs already.
type carillon struct {
	url, key   string
	client     *http.Client
	isSilent   atomic.Bool
	program    *program
	accept     string
	provider   string
	binary     string
	caPEM      string
	roots      *x509.CertPool
	management *url.URL
	limits     limits
}

func start(wanted service) (*carillon, error) {
	options := []string{"--clock", "virtual", "--web-push", "127.0.0.1:0"}
	if wanted.accept != "" {
		options = append(options, "--accept", wanted.accept)
	}
	program, err := startProgram(append(options, wanted.options...), wanted.startTimeout)
	if err != nil {
		return nil, err
	}
	c := &carillon{url: program.ready.Management.URL, key: program.ready.Management.Key, program: program, accept: wanted.accept,
		limits: usualLimits}
	if err := c.describe(program.ready.description); err != nil {
		program.close()
		return nil, err
	}
	return c, nil
}

func attach(url, key, accept string) (*carillon, error) {
	// A secret of CI often ends with a newline.
	c := &carillon{url: strings.TrimRight(strings.TrimSpace(url), "/"), key: strings.TrimSpace(key), accept: accept, limits: usualLimits}
	var made struct {
		Service *struct {
			description
			Journal *struct{}
		}
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	if strings.IndexFunc(c.key, func(r rune) bool { return r < '!' || r > '~' }) >= 0 {
		return nil, errors.New("CARILLON_MANAGEMENT_KEY has a character that no key has, such as a space: set it to the key alone")
	}
	const path = "/v1/fixtures"
	// A fixture without teams makes nothing. Its answer has the addresses and the authority.
	status, err := c.ask("POST", path, object{"teams": []object{}}, &made)
	if err != nil {
		return nil, err
	}
	if made.Service == nil || made.Service.CAPEM == "" {
		return nil, c.stranger("POST", path, status)
	}
	if made.Service.Journal == nil {
		return nil, fmt.Errorf("the Carillon at %s is older than this package: start Carillon %s or newer there", c.url, oldest)
	}
	return c, c.describe(made.Service.description)
}

func (c *carillon) open() (err error) {
	c.management, err = url.Parse(c.url)
	port := 0
	if err == nil && c.management.Port() != "" {
		port, err = strconv.Atoi(c.management.Port())
	}
	if err != nil || port > 65535 || c.management.Host == "" || (c.management.Scheme != "http" && c.management.Scheme != "https") {
		return fmt.Errorf("CARILLON_MANAGEMENT_URL is %s: set it to a URL such as http://localhost:2198", c.url)
	}
	// As many connections are kept as tests may run at the same time: a service counts how often an address connects. Only the
	// first call makes a client, so that its connections are kept.
	if c.client == nil {
		c.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	}
	return nil
}

func (c *carillon) describe(description description) (err error) {
	if err := c.open(); err != nil {
		return err
	}
	if description.Development == nil {
		return errors.New("this Carillon does not serve the development environment: start it with --environment development")
	}
	if c.provider, err = c.address("PROVIDER", description.Development.Provider); err != nil {
		return err
	}
	if c.binary, err = c.address("BINARY", description.Development.Binary); err != nil {
		return err
	}
	c.caPEM = description.CAPEM
	c.roots = x509.NewCertPool()
	if !c.roots.AppendCertsFromPEM([]byte(c.caPEM)) {
		return errors.New("this Carillon does not say what to trust")
	}
	return nil
}

// address is where this machine reaches a port of the service.
func (c *carillon) address(name, address string) (string, error) {
	// A container has ports of its own: variables say to which ones of this machine they are mapped.
	mapped := ""
	if c.program == nil {
		if mapped = os.Getenv("CARILLON_" + name + "_ADDRESS"); mapped != "" {
			address = mapped
		}
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("CARILLON_%s_ADDRESS is %s: set it to a host and a port, such as localhost:2197", name, address)
	}
	// An address that only that machine can reach, or every address of it: it is reached as the management API is.
	if ip := net.ParseIP(host); c.program == nil && mapped == "" && ip != nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = c.management.Hostname()
	}
	return net.JoinHostPort(host, port), nil
}

type object = map[string]any

// refusal is the error of a request that the service refused.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// limits are the longest times until the service answers: usual for a request that waits for nothing, and short beyond the time
// of a wait, and for each request after one that was not answered.
type limits struct{ usual, short time.Duration }

var usualLimits = limits{usual: 30 * time.Second, short: 5 * time.Second}

// ask sends a request to the management API, and reads its answer into result.
func (c *carillon) ask(method, path string, body, result any) (status int, err error) {
	if c.isSilent.Load() {
		return c.askWithin(c.limits.short, method, path, body, result)
	}
	return c.askWithin(c.limits.usual, method, path, body, result)
}

// wait is ask for a request to which the service may wait for a time. If the status is 408, it is the answer, and no error.
func (c *carillon) wait(time time.Duration, path string, body, result any) (status int, err error) {
	return c.askWithin(time+c.limits.short, "POST", path, body, result)
}

func (c *carillon) askWithin(timeout time.Duration, method, path string, body, result any) (status int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, content)
	if err != nil {
		return 0, err
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	// The service closes a connection only while it is idle, so it has not seen a request that gets no answer on a connection
	// that was used before. Without a value, this header is not sent, and lets net/http send the request again.
	request.Header["Idempotency-Key"] = nil
	answer, err := c.client.Do(request)
	if err != nil {
		return 0, c.failure(err, timeout)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, c.failure(err, timeout)
	}
	c.isSilent.Store(false)
	if status = answer.StatusCode; status >= 300 && status != http.StatusRequestTimeout {
		return status, c.refused(method, path, status, text)
	}
	if result != nil {
		if err := json.Unmarshal(text, result); err != nil {
			return status, c.stranger(method, path, status)
		}
	}
	return status, nil
}

func (c *carillon) failure(err error, timeout time.Duration) error {
	name, advice := "the Carillon at "+c.url, "check that it runs, and that CARILLON_MANAGEMENT_URL is its address"
	if c.program != nil {
		if ended := c.program.ending(); ended != nil {
			return ended
		}
		name, advice = "the Carillon of this test run", "it is stopped or overloaded"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		c.isSilent.Store(true)
		return fmt.Errorf("%s does not answer (no answer within %v): %s", name, timeout, advice)
	}
	// A port of TLS answers a request in plain text with an alert, which is no HTTP.
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), "malformed HTTP") {
		advice = ""
		if c.program == nil {
			advice = "check that CARILLON_MANAGEMENT_URL has the port of the management API; "
		}
		return fmt.Errorf("%s closed the connection before its answer: %sif its log names a limit, such as management-connections, "+
			"raise it", name, advice)
	}
	return fmt.Errorf("%s does not answer (%w): %s", name, err, advice)
}

func (c *carillon) refused(method, path string, status int, text []byte) error {
	if status == http.StatusUnauthorized {
		cause := "refuses the key"
		if c.key == "" {
			cause = "needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set"
		}
		return &refusal{status, fmt.Sprintf("the Carillon at %s %s: set CARILLON_MANAGEMENT_KEY to its key", c.url, cause)}
	}
	var problem struct{ Detail, Pointer string }
	if json.Unmarshal(text, &problem) != nil || problem.Detail == "" {
		return c.stranger(method, path, status)
	}
	place := ""
	if problem.Pointer != "" {
		place = ", at " + problem.Pointer
	}
	return &refusal{status, fmt.Sprintf("%s (%s %s, %d%s)", problem.Detail, method, path, status, place)}
}

func (c *carillon) stranger(method, path string, status int) error {
	return &refusal{status, fmt.Sprintf("%s is not Carillon's management API (%s %s got %d): check CARILLON_MANAGEMENT_URL",
		c.url, method, path, status)}
}

func (c *carillon) close() {
	c.client.CloseIdleConnections()
	if c.program != nil {
		c.program.close()
	}
}
