// Package push is a small provider that uses net/http. Replace it with your own.
package push

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Provider sends notifications of one app.
type Provider struct {
	client       *http.Client
	url          string
	topic, token string
}

// Answer is the service's answer to a notification.
type Answer struct {
	Status int
	APNSID string
	Reason string
}

// NewProvider makes a provider that trusts these roots and signs with a key in PEM.
func NewProvider(url, topic, teamID, keyID, privateKey string, roots *x509.CertPool) (*Provider, error) {
	token, err := providerToken(teamID, keyID, privateKey)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	return &Provider{&http.Client{Transport: transport}, url, topic, token}, nil
}

func providerToken(teamID, keyID, privateKey string) (string, error) {
	block, _ := pem.Decode([]byte(privateKey))
	if block == nil {
		return "", errors.New("the key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", err
	}
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA {
		return "", errors.New("the key is not for ECDSA")
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(fmt.Sprintf(`{"alg":"ES256","kid":%q}`, keyID))) + "." +
		encode([]byte(fmt.Sprintf(`{"iss":%q,"iat":%d}`, teamID, time.Now().Unix())))
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + encode(signature), nil
}

// Send sends one notification.
func (p *Provider) Send(deviceToken string, payload []byte) (Answer, error) {
	request, err := http.NewRequest("POST", p.url+"/3/device/"+deviceToken, bytes.NewReader(payload))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("authorization", "bearer "+p.token)
	request.Header.Set("apns-topic", p.topic)
	request.Header.Set("apns-push-type", "alert")
	response, err := p.client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	answer := Answer{Status: response.StatusCode, APNSID: response.Header.Get("apns-id")}
	if response.StatusCode != http.StatusOK {
		err = json.NewDecoder(response.Body).Decode(&answer)
	}
	return answer, err
}

// Close ends the connection.
func (p *Provider) Close() { p.client.CloseIdleConnections() }
