package carillontest

// What a developer sees if something is wrong. Each is one sentence that says what to do, and nothing hangs.

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	if _, err := apns.carillon.ask("POST", "/v1/notifications", request, nil, limit); err != nil {
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

func TestRefusal(t *testing.T) {
	_, err := New(t).WaitFor(0, 1, Match{"colour": "red"})
	contains(t, err, "(POST /v1/requests/wait, 400, at /match/colour)")
}

func useProgram(t *testing.T, content string) {
	t.Helper()
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
	useProgram(t, "#!/bin/sh\necho 'Error: the disk is full' >&2\nexit 3\n")
	_, err := start(usual)
	contains(t, err, "did not start: exit status 3. It said:\n  Error: the disk is full")
}

func TestProgramThatIsNeverReady(t *testing.T) {
	useProgram(t, "#!/bin/sh\nexec cat\n")
	_, err := start(service{startTimeout: 200 * time.Millisecond})
	contains(t, err, "was not ready within 200ms: give it a longer StartTimeout")
}

func TestProgramThatClosesItsOutput(t *testing.T) {
	useProgram(t, "#!/bin/sh\nexec cat >/dev/null\n")
	_, err := start(usual)
	contains(t, err, "did not start: exit status 0")
}

func TestProgramThatIsSomethingElse(t *testing.T) {
	useProgram(t, "#!/bin/sh\necho Hello\n")
	_, err := start(usual)
	contains(t, err, "is not Carillon's program, or another version of it")
}

func TestPortInUse(t *testing.T) {
	c := startUsual(t)
	_, err := start(service{startTimeout: time.Minute, options: []string{"--management", c.management.Host}})
	contains(t, err, "did not start: exit status 1. It said:\n")
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
	contains(t, err, "set CARILLON_MANAGEMENT_KEY to its key")
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
