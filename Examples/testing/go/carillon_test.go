package push

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// carillon is a service that keeps everything in memory and listens on ports that the system chooses.
type carillon struct {
	process *exec.Cmd
	ready   struct {
		Development struct{ Provider string }
		CAPEM       string `json:"caPEM"`
		Management  struct{ URL, Key string }
	}
	roots *x509.CertPool
}

func startCarillon() (*carillon, error) {
	command := os.Getenv("CARILLON")
	if command == "" {
		command = "carillon"
	}
	c := &carillon{process: exec.Command(command, "serve", "--store", "memory", "--ports", "ephemeral", "--json")}
	output, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(line, &c.ready); err != nil {
		return nil, err
	}
	c.roots = x509.NewCertPool()
	if !c.roots.AppendCertsFromPEM([]byte(c.ready.CAPEM)) {
		return nil, errors.New("the ready line has no authority")
	}
	return c, nil
}

func (c *carillon) close() {
	_ = c.process.Process.Signal(syscall.SIGTERM)
	_ = c.process.Wait()
}

// manage sends a request to the management API, and reads its answer into result.
func (c *carillon) manage(method, path string, body, result any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, c.ready.Management.URL+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.ready.Management.Key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s", text)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(text, result)
}

type object = map[string]any

// team is a team with an app and a phone, and the credentials that its provider needs.
type team struct {
	t           *testing.T
	carillon    *carillon
	BundleID    string
	DeviceToken string
	fixture
}

type fixture struct {
	TeamID  string
	Keys    []struct{ KeyID, PrivateKey string }
	Devices []struct {
		DeviceID string
		Tokens   map[string]string
	}
}

func newTeam(t *testing.T, c *carillon) *team {
	t.Helper()
	bundleID := fmt.Sprintf("com.example.shop%d", time.Now().UnixNano())
	document := object{"teams": []object{
		{"name": "Shop", "apps": []string{bundleID}, "devices": []object{{"name": "phone"}}},
	}}
	var made struct{ Teams []fixture }
	if err := c.manage("POST", "/v1/fixtures", document, &made); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.manage("DELETE", "/v1/teams/"+made.Teams[0].TeamID, nil, nil) })
	return &team{t, c, bundleID, made.Teams[0].Devices[0].Tokens[bundleID], made.Teams[0]}
}

type request struct {
	APNSID  string
	Status  int
	Payload struct{ APS struct{ Alert string } }
}

// wait returns the requests of this team that match, as soon as there are count of them. If they do not come in time,
// the test fails and shows the requests that came.
func (team *team) wait(count int, match object) []request {
	team.t.Helper()
	match["team"] = team.TeamID
	var seen struct{ Requests []request }
	body := object{"match": match, "count": count, "timeout": "PT5S"}
	if err := team.carillon.manage("POST", "/v1/requests/wait", body, &seen); err != nil {
		team.t.Fatal(err)
	}
	return seen.Requests
}

// rehearse makes a fault happen to this team's requests only.
func (team *team) rehearse(when, fault object) {
	team.t.Helper()
	rule := object{"match": object{"team": team.TeamID}, "when": when, "fault": fault}
	if err := team.carillon.manage("POST", "/v1/rehearsals", object{"rules": []object{rule}}, nil); err != nil {
		team.t.Fatal(err)
	}
}

// behave changes what the phone does from now on.
func (team *team) behave(behaviour object) {
	team.t.Helper()
	path := "/v1/devices/" + team.Devices[0].DeviceID
	if err := team.carillon.manage("PATCH", path, object{"behaviour": behaviour}, nil); err != nil {
		team.t.Fatal(err)
	}
}
