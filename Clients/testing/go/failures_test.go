package carillontest

// What a developer sees if something is wrong. Each is one sentence that says what to do, and nothing hangs.

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func contains(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not contain %q", err, part)
		}
	}
}

var usual = service{startTimeout: time.Minute}

func startUsual(t *testing.T) *carillon {
	t.Helper()
	c, err := start(usual)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// recorder is a test that fails without stopping anything.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Helper()             {}
func (r *recorder) Cleanup(func())      {}
func (r *recorder) Failed() bool        { return r.text != "" }
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Fatalf(format string, arguments ...any) {
	r.text = fmt.Sprintf(format, arguments...)
	runtime.Goexit()
}

// failure returns how body fails a test.
func failure(body func(TB)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		body(r)
	}()
	<-done
	return r.text
}

func TestWaitExplains(t *testing.T) {
	apns := New(t)
	// Not accepted, because nobody has this key.
	request := object{"token": "00fc13adff785122", "topic": apns.BundleID, "payload": object{"aps": object{"alert": "Hello"}}}
	if _, err := apns.carillon.ask("POST", "/v1/notifications", request, nil); err != nil {
		t.Fatal(err)
	}
	_, err := apns.WaitFor(100*time.Millisecond, 1, Match{"outcome": "delivered", "payload": object{"aps": object{"alert": "Bye"}}})
	contains(t, err, "0 requests matched", "within 100ms, instead of 1.", "400 BadDeviceToken, rejected",
		`outcome is "rejected", not "delivered"`,
		`payload is {"aps":{"alert":"Hello"}}, not {"aps":{"alert":"Bye"}}`)
	_, err = apns.WaitFor(0, 0, nil)
	contains(t, err, "1 requests matched within 0s, but none should")
}

func TestWaitWithoutRequests(t *testing.T) {
	text := failure(func(tb TB) {
		apns := New(t)
		apns.waitLimit = 0
		apns.t = tb
		apns.Wait(1, nil)
	})
	if !strings.Contains(text, "The backend has sent nothing: it has to connect to https://") {
		t.Error(text)
	}
}

func TestWaitForWebPushWithoutMessages(t *testing.T) {
	apns := New(t)
	subscription, newest := apns.WebPush("online"), apns.WebPush("online")
	says := func(match Match, place string) {
		t.Helper()
		_, err := apns.WaitFor(0, 1, match)
		contains(t, err, "has sent nothing: it has to "+place+", and trust")
	}
	says(nil, "send to "+newest.Endpoint)
	says(Match{"text": "Hello"}, "send to "+newest.Endpoint)
	says(Match{"subscription": subscription.Name}, "send to "+subscription.Endpoint)
	// It may be about the phone.
	apns.Device("online")
	says(nil, "connect to "+apns.URL)
}

// newTeam makes a team of a service that has no other test.
func newTeam(t *testing.T, c *carillon) *APNs {
	t.Helper()
	apns, err := newAPNs(t, c, settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(apns.end)
	return apns
}

// waitForFailure waits until connections of the test's service have failed. The team of the test sees no failed connection.
func waitForFailure(t *testing.T, c *carillon, count int) {
	t.Helper()
	body := object{"match": object{"outcome": "failed"}, "count": count, "timeout": "PT60S"}
	if status, err := c.wait(time.Minute, "/v1/requests/wait", body, nil); err != nil || status != 200 {
		t.Fatal(status, err)
	}
}

func TestBackendWithoutTrust(t *testing.T) {
	c := startUsual(t)
	apns := newTeam(t, c)
	if _, err := http.Post(apns.URL+"/3/device/00", "application/json", strings.NewReader("{}")); err == nil {
		t.Fatal("the client trusts every certificate")
	}
	waitForFailure(t, c, 1)
	_, err := apns.WaitFor(0, 1, nil)
	contains(t, err, "(a connection since this test began, perhaps another test's: its alert is bad_certificate)", "let it trust the authority in apns.RootCAs, apns.CAPEM or apns.CAFile()",
		"\n0 requests matched within 0s, instead of 1.")
	if !strings.HasPrefix(err.Error(), "The backend does not trust the service (") {
		t.Error(err)
	}
	contains(t, errors.New(apns.Sent()[0]), "#1, a connection of 127.0.0.1:", " failed: the client sent the alert bad_certificate")
	// It is not the connection of a test that begins later.
	_, err = newTeam(t, c).WaitFor(0, 1, nil)
	contains(t, err, "The backend has sent nothing")
}

func TestBackendWithoutHTTP2(t *testing.T) {
	c := startUsual(t)
	apns := newTeam(t, c)
	// A transport that is given its TLS offers HTTP/1.1, or nothing.
	for count, protocols := range [][]string{{"http/1.1"}, nil} {
		configuration := apns.TLS()
		configuration.NextProtos = protocols
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: configuration}}
		if _, err := client.Post(apns.URL+"/3/device/00", "application/json", strings.NewReader("{}")); err == nil {
			t.Fatal("the service speaks HTTP/1")
		}
		waitForFailure(t, c, count+1)
		_, err := apns.WaitFor(0, 1, nil)
		how := "it sent a request of HTTP/1"
		if count == 0 {
			how = "it offered only http/1.1"
		}
		contains(t, err, "The backend does not speak HTTP/2 ("+whose+": "+how+"): APNs takes nothing else, so send with a client for HTTP/2.\n0 ")
	}
}

func TestJournalThatIsOff(t *testing.T) {
	apns := New(t, Options("--journal", "0"))
	_, one := apns.WaitFor(0, 1, nil)
	_, none := apns.WaitFor(0, 0, nil)
	_, seen := apns.seen(nil)
	for _, err := range []error{one, none, seen, errors.New(apns.Sent()[0])} {
		contains(t, err, "is off, so nobody knows what was sent: start", "with --journal 10000")
	}
}

// serve returns a client of a server that handles requests in place of the management API, and counts its connections.
func serve(t *testing.T, limits limits, handle http.HandlerFunc) (*carillon, *httptest.Server, *atomic.Int32) {
	t.Helper()
	connections := &atomic.Int32{}
	server := httptest.NewUnstartedServer(handle)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	c := &carillon{url: server.URL, limits: limits}
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	t.Cleanup(server.CloseClientConnections)
	return c, server, connections
}

func TestSilentService(t *testing.T) {
	c, _, _ := serve(t, limits{10 * time.Minute, 50 * time.Millisecond}, func(_ http.ResponseWriter, request *http.Request) {
		<-request.Context().Done()
	})
	_, err := c.wait(100*time.Millisecond, "/v1/requests/wait", object{}, nil)
	contains(t, err, "does not answer (no answer within 150ms): check that it runs")
	// It was silent, so the next request does not wait for ten minutes.
	_, err = c.ask("GET", "/", nil, nil)
	contains(t, err, "no answer within 50ms")
}

func TestServiceThatClosesConnections(t *testing.T) {
	c, _, connections := serve(t, usualLimits, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := c.ask("POST", "/", object{}, nil)
	contains(t, err, "closed the connection before its answer: check that CARILLON_MANAGEMENT_URL has the port of the management API; if its log names a limit")
	if connections.Load() != 1 {
		t.Error(connections.Load())
	}
}

func TestConnectionsAreKept(t *testing.T) {
	var all sync.WaitGroup
	all.Add(200)
	c, server, connections := serve(t, usualLimits, func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/together" {
			all.Done()
			all.Wait()
		}
		_, _ = response.Write([]byte("{}"))
	})
	var answered sync.WaitGroup
	for number := 0; number < 200; number++ {
		answered.Add(1)
		go func() {
			defer answered.Done()
			if _, err := c.ask("GET", "/together", nil, nil); err != nil {
				t.Error(err)
			}
		}()
	}
	answered.Wait()
	for number := 0; number < 200; number++ {
		if _, err := c.ask("GET", "/", nil, nil); err != nil {
			t.Error(err)
		}
	}
	if connections.Load() != 200 {
		t.Errorf("%d connections", connections.Load())
	}
	// The client may not have noticed it yet.
	server.CloseClientConnections()
	if _, err := c.ask("POST", "/", object{}, nil); err != nil {
		t.Error(err)
	}
}

func TestRefusal(t *testing.T) {
	_, err := New(t).WaitFor(0, 1, Match{"colour": "red"})
	contains(t, err, "(POST /v1/requests/wait, 400, at /match/colour)")
}

// useProgram lets CARILLON name a program with this content. A script says that it is this version of Carillon.
func useProgram(t *testing.T, content string, version ...string) {
	t.Helper()
	if len(version) > 0 {
		content = fmt.Sprintf("#!/bin/sh\ncase $1 in --version) echo %s; exit;; esac\n%s\n", version[0], content)
	}
	path := filepath.Join(t.TempDir(), "carillon")
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CARILLON", path)
}

func TestMissingProgram(t *testing.T) {
	t.Setenv("CARILLON", "/nowhere/carillon")
	_, err := start(usual)
	contains(t, err, "CARILLON names /nowhere/carillon, which is not a program")
}

func TestProgramForAnotherMachine(t *testing.T) {
	useProgram(t, "\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 200))
	_, err := start(usual)
	contains(t, err, "cannot be started on this machine", "exec format error", "install the program for this machine")
}

func TestProgramThatEnds(t *testing.T) {
	useProgram(t, "echo 'Error: the disk is full' >&2; exit 3", oldest)
	_, err := start(usual)
	contains(t, err, "did not start: it ended (exit status 3). It said:\n  Error: the disk is full")
}

func TestProgramThatIsNeverReady(t *testing.T) {
	useProgram(t, "exec cat", oldest)
	_, err := start(service{startTimeout: 200 * time.Millisecond})
	contains(t, err, "was not ready within 200ms; if it is slow, give it a longer StartTimeout")
}

func TestProgramThatClosesItsOutput(t *testing.T) {
	useProgram(t, "exec cat >/dev/null", oldest)
	_, err := start(usual)
	contains(t, err, "did not start: it ended (exit status 0)")
}

func TestProgramThatIsSomethingElse(t *testing.T) {
	useProgram(t, "#!/bin/sh\necho Hello\n")
	_, err := start(usual)
	contains(t, err, `is not Carillon's program, and printed "Hello\n": correct the variable CARILLON, or remove it`)
}

func TestProgramThatSaysNothing(t *testing.T) {
	t.Setenv("CARILLON", "/bin/false")
	_, err := start(usual)
	contains(t, err, "/bin/false is not Carillon's program, and ended (exit status 1): correct the variable CARILLON")
}

func TestSystemLacksWhatTheProgramNeeds(t *testing.T) {
	for said, text := range map[string]string{
		"libc.so.6: version \\`GLIBC_2.34' not found":                   "glibc 2.34 or newer: take a newer system",
		"error while loading shared libraries: libpq.so.5: cannot open": "the library libpq.so.5: install it, or take the program of",
	} {
		useProgram(t, "#!/bin/sh\necho \"$0: "+said+"\" >&2; exit 127\n")
		_, err := start(usual)
		contains(t, err, "carillon cannot be started, because this system lacks "+text)
	}
}

func TestProgramThatPrintsForEverOrLeavesAChild(t *testing.T) {
	for content, happened := range map[string]string{
		"exec yes": "printed", "tr '\\0' x </dev/zero": "", "sleep 100 & sleep 100": "was not ready within 200ms",
	} {
		useProgram(t, "#!/bin/sh\n"+content+"\n")
		_, err := start(service{startTimeout: 200 * time.Millisecond})
		contains(t, err, "is not Carillon's program, and "+happened)
	}
}

func TestSomethingElseInPlaceOfTheManagementAPI(t *testing.T) {
	var status int
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		response.WriteHeader(status)
		_, _ = response.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	for _, status = range []int{200, 404} {
		for _, body = range []string{"{}", "[]", "", "null", `{"service":{}}`, `{"error":"no"}`, "<html>"} {
			_, err := attach(server.URL, "key", "")
			contains(t, err, server.URL+fmt.Sprintf(
				" is not Carillon's management API (POST /v1/fixtures got %d): check CARILLON_MANAGEMENT_URL", status))
		}
	}
	status, body = 200, `{"service":{"caPEM":"PEM"}}`
	_, err := attach(server.URL, "key", "")
	contains(t, err, "is older than this package: start Carillon 0.2.0 or newer there")
}

func TestKeyWithSomethingAroundIt(t *testing.T) {
	c := startUsual(t)
	attached, err := attach(c.url+"\n", c.key+"\r\n", "")
	if err != nil {
		t.Fatal(err)
	}
	attached.close()
	for _, key := range []string{"my key", "Schlüssel→"} {
		_, err := attach(c.url, key, "")
		contains(t, err, "CARILLON_MANAGEMENT_KEY has a character that no key has")
		if strings.Contains(err.Error(), key) {
			t.Error(err)
		}
	}
	_, err = attach("http://"+c.provider, c.key, "")
	contains(t, err, "check that CARILLON_MANAGEMENT_URL has the port of the management API; if its log")
	_, err = attach("http://localhost:99999", c.key, "")
	contains(t, err, "set it to a URL such as http://localhost:2198")
}

func TestOlderCarillon(t *testing.T) {
	useProgram(t, "echo 'Error: Unknown option' >&2; exit 64", "0.1.9")
	_, err := start(usual)
	contains(t, err, "is Carillon 0.1.9, and this package needs 0.2.0 or newer: correct the variable CARILLON")
}

func TestPortInUse(t *testing.T) {
	c := startUsual(t)
	_, err := start(service{startTimeout: time.Minute, options: []string{"--management", c.management.Host}})
	contains(t, err, "did not start: it ended (exit status 1). It said:\n")
}

func TestServiceEnds(t *testing.T) {
	c := startUsual(t)
	apns, err := newAPNs(t, c, settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.program.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, err = apns.WaitFor(10*time.Minute, 1, nil)
	contains(t, err, "has ended (signal 9): run the tests again")
}

func TestAttach(t *testing.T) {
	c := startUsual(t)
	_, err := attach("http://127.0.0.1:1", "", "")
	contains(t, err, "the Carillon at http://127.0.0.1:1 does not answer")
	_, err = attach(c.url, "wrong", "")
	contains(t, err, "refuses the key: set CARILLON_MANAGEMENT_KEY to its key")
	_, err = attach(c.url, "", "")
	contains(t, err, "needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set: set CARILLON_MANAGEMENT_KEY to its key")
	_, err = attach("localhost", "", "")
	contains(t, err, "set it to a URL such as http://localhost:2198")

	t.Setenv("CARILLON_MANAGEMENT_URL", c.url)
	t.Setenv("CARILLON_MANAGEMENT_KEY", c.key)
	t.Setenv("CARILLON_PROVIDER_ADDRESS", "localhost:49153")
	t.Setenv("CARILLON", "/nowhere/carillon")
	attached, err := startOrAttach(usual)
	if err != nil {
		t.Fatal(err)
	}
	apns, err := newAPNs(t, attached, settings{})
	if err != nil {
		t.Fatal(err)
	}
	if apns.URL != "https://localhost:49153" || apns.Host != "localhost" || apns.Port != 49153 || apns.CAPEM != c.caPEM {
		t.Error(apns.URL, apns.Host, apns.Port)
	}
	apns.end()
	attached.close()
	// It was not started here, so it does not end here.
	if apns, err = newAPNs(t, c, settings{}); err != nil {
		t.Fatal(err)
	}
	apns.end()
}

// TestServiceEndsWithAKilledProcess runs this program again, which starts a service and is killed.
func TestServiceEndsWithAKilledProcess(t *testing.T) {
	const variable = "CARILLONTEST_KILLED"
	if os.Getenv(variable) != "" {
		c, err := start(usual)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("service", c.program.command.Process.Pid)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	again := exec.Command(os.Args[0], "-test.run", "^TestServiceEndsWithAKilledProcess$")
	again.Env = append(os.Environ(), variable+"=1")
	output, err := again.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		_, _ = fmt.Sscanf(lines.Text(), "service %d", &pid)
	}
	_ = again.Wait()
	if pid == 0 {
		t.Fatal("there was no service")
	}
	// The service is no child of this process. Its end shows in /proc.
	deadline := time.Now().Add(time.Minute)
	for runs(pid) {
		if time.Now().After(deadline) {
			t.Fatal("the service still runs")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func runs(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "\nState:\tZ")
}

func TestFaultsWithoutATeam(t *testing.T) {
	type schema struct {
		Properties map[string]struct{ Description string }
	}
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	if _, err := startUsual(t).ask("GET", "/openapi.json", nil, &document); err != nil {
		t.Fatal(err)
	}
	faults := document.Components.Schemas["RehearsalFault"].Properties
	if len(faults) == 0 {
		t.Fatal("the service describes no faults")
	}
	for name, fault := range faults {
		if described := strings.Contains(fault.Description, "about new connections"); described != withoutTeam[name] {
			t.Errorf("%s: the service says %v, the package %v", name, described, withoutTeam[name])
		}
	}
	for name := range withoutTeam {
		if _, known := faults[name]; !known {
			t.Errorf("the service has no fault %s", name)
		}
	}
}
