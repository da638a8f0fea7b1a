package carillontest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is a running `carillon serve`. It ends with this process, also if this process is killed.
type program struct {
	command *exec.Cmd
	input   io.Closer
	log     *os.File
	ended   chan struct{}
	status  string
	ready   ready
}

// ready is the line that the service prints when it is ready.
type ready struct {
	Event      string
	Management struct{ URL, Key string }
	description
}

// description says where a service listens, and what to trust.
type description struct {
	CAPEM       string `json:"caPEM"`
	Development *struct{ Provider, Binary string }
}

func find() (string, error) {
	if named := os.Getenv("CARILLON"); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("CARILLON names %s, which is not a program: correct the variable, or remove it", named)
		}
		return path, nil
	}
	path, err := exec.LookPath("carillon")
	if err != nil {
		return "", errors.New("there is no program carillon: put it on the path, or name it in the variable CARILLON; or set " +
			"CARILLON_MANAGEMENT_URL to use a service that runs already")
	}
	return path, nil
}

// environment is that of this process without Carillon's variables: the service of a test has the settings that the test
// names, and no others.
func environment() []string {
	var all []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CARILLON") {
			all = append(all, variable)
		}
	}
	// Close the connections that clients have left open, instead of waiting for them.
	return append(all, "CARILLON_LIMIT_SHUTDOWN_TIMEOUT=1")
}

// oldest is the oldest Carillon that this package works with.
const oldest = "0.2.0"

var versionForm = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)(-\S+)?( \(.*\))?\s*$`)

// version returns the version of a program, with its parts; nil if it is not Carillon's.
func version(path string) []string {
	output, end, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer output.Close()
	command := exec.Command(path, "--version")
	command.Env = environment()
	command.Stdout = end
	err = command.Start()
	_ = end.Close()
	if err != nil {
		return nil
	}
	// It may print for ever, and a child of it may keep its output open.
	_ = output.SetReadDeadline(time.Now().Add(5 * time.Second))
	text, _ := io.ReadAll(io.LimitReader(output, 200))
	_ = command.Process.Kill()
	_ = command.Wait()
	return versionForm.FindStringSubmatch(string(text))
}

var (
	libraryForm = regexp.MustCompile(`error while loading shared libraries: ([^:\s]+)`)
	glibcForm   = regexp.MustCompile(`GLIBC_(\d+)\.(\d+)`)
)

// missing says what this system lacks, and what to do, if the system's loader says that it cannot load a program; otherwise "".
func missing(said string) string {
	if library := libraryForm.FindStringSubmatch(said); library != nil && !strings.Contains(said, "GLIBC") {
		return "the library " + library[1] + ": install it, or take the program of a release's archive, which has its libraries inside"
	}
	newest := [2]int{}
	for _, version := range glibcForm.FindAllStringSubmatch(said, -1) {
		major, _ := strconv.Atoi(version[1])
		minor, _ := strconv.Atoi(version[2])
		if major > newest[0] || (major == newest[0] && minor > newest[1]) {
			newest = [2]int{major, minor}
		}
	}
	if newest[0] == 0 {
		return ""
	}
	return fmt.Sprintf("glibc %d.%d or newer: take a newer system, such as the image of Debian 12 or Ubuntu 22.04", newest[0], newest[1])
}

// notStarted is the error of a program that is not a service; happened is what it did.
func notStarted(path, happened, said string) error {
	if lacking := missing(said); lacking != "" {
		return fmt.Errorf("%s cannot be started, because this system lacks %s%s", path, lacking, said)
	}
	advice := "name Carillon's in the variable CARILLON"
	if os.Getenv("CARILLON") != "" {
		advice = "correct the variable CARILLON, or remove it"
	}
	parts := version(path)
	if parts == nil {
		return fmt.Errorf("%s is not Carillon's program, and %s: %s%s", path, happened, advice, said)
	}
	needed := versionForm.FindStringSubmatch(oldest)
	for place := 1; place <= 3; place++ {
		has, _ := strconv.Atoi(parts[place])
		wants, _ := strconv.Atoi(needed[place])
		if has != wants {
			if has < wants {
				return fmt.Errorf("%s is Carillon %s, and this package needs %s or newer: %s%s",
					path, strings.Join(parts[1:4], "."), oldest, advice, said)
			}
			break
		}
	}
	return fmt.Errorf("%s did not start: it %s%s", path, happened, said)
}

func startProgram(options []string, timeout time.Duration) (*program, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	// A file without a name, because nobody reads a pipe while the tests run.
	log, err := os.CreateTemp("", "carillon-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(log.Name())
	arguments := append([]string{"serve", "--store", "memory", "--ports", "ephemeral", "--json", "--until-input-ends",
		"--log-level", "warning"}, options...)
	p := &program{command: exec.Command(path, arguments...), log: log, ended: make(chan struct{})}
	p.command.Env = environment()
	p.command.Stderr = log
	output, outputEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.command.Stdout = outputEnd
	// The service ends when its standard input ends: the system closes the pipe with this process.
	if p.input, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	err = p.command.Start()
	_ = outputEnd.Close()
	if err != nil {
		_, _ = output.Close(), log.Close()
		cause := err
		if unwrapped := errors.Unwrap(err); unwrapped != nil {
			cause = unwrapped
		}
		return nil, fmt.Errorf("%s cannot be started on this machine (%s): %v; build or install the program for this machine, "+
			"or name another one in the variable CARILLON", path, runtime.GOARCH, cause)
	}
	go func() {
		_ = p.command.Wait()
		p.status = ending(p.command.ProcessState)
		close(p.ended)
	}()
	if err := p.readReady(path, output, timeout); err != nil {
		_ = p.command.Process.Kill()
		p.close()
		return nil, err
	}
	return p, nil
}

// longestLine is a limit of the ready line, which has some thousand bytes. A program that prints more is another one.
const longestLine = 1 << 20

func (p *program) readReady(path string, output *os.File, timeout time.Duration) error {
	_ = output.SetReadDeadline(time.Now().Add(timeout))
	var text []byte
	piece := make([]byte, 65536)
	for !bytes.HasSuffix(text, []byte("\n")) && len(text) <= longestLine {
		count, err := output.Read(piece)
		text = append(text, piece[:count]...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return notStarted(path, fmt.Sprintf("was not ready within %v; if it is slow, give it a longer StartTimeout", timeout), p.said())
		} else if err != nil {
			p.end()
			return notStarted(path, fmt.Sprintf("ended (%s)", p.status), p.said())
		}
	}
	// The service prints nothing more. Its standard output stays open with this file.
	p.command.Stdout = output
	if err := json.Unmarshal(text, &p.ready); err != nil || p.ready.Event != "ready" {
		if len(text) > 200 {
			text = text[:200]
		}
		return notStarted(path, fmt.Sprintf("printed %q", text), p.said())
	}
	return nil
}

func ending(state *os.ProcessState) string {
	if status, isUnix := state.Sys().(syscall.WaitStatus); isUnix && status.Signaled() {
		return fmt.Sprintf("signal %d", int(status.Signal()))
	}
	return fmt.Sprintf("exit status %d", state.ExitCode())
}

// ending returns an error about the end of the program; nil if it runs.
func (p *program) ending() error {
	// A connection may break before the end of the process is reported.
	select {
	case <-p.ended:
		return fmt.Errorf("the Carillon of this test run has ended (%s): run the tests again%s", p.status, p.said())
	case <-time.After(time.Second):
		return nil
	}
}

// said returns the last lines of the log, below a text about it.
func (p *program) said() string {
	state, err := p.log.Stat()
	if err != nil || state.Size() == 0 {
		return ""
	}
	// The program writes at the position of this file, so do not move it.
	start := state.Size() - 2000
	if start < 0 {
		start = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(p.log, start, 2000))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) > 8 {
		lines = lines[len(lines)-8:]
	}
	return ". It said:\n  " + strings.Join(lines, "\n  ")
}

// close ends the program, and waits for its end.
func (p *program) close() {
	p.end()
	if output, isFile := p.command.Stdout.(*os.File); isFile {
		_ = output.Close()
	}
	_ = p.log.Close()
}

// end ends the program, at once if it has not ended after 15 seconds.
func (p *program) end() {
	_ = p.input.Close()
	select {
	case <-p.ended:
	case <-time.After(15 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}
