package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
)

// identities are the TLS configurations of clients: one for each chain in the file of chains.
type identities struct {
	base   *tls.Config
	chains []tls.Certificate
}

func loadIdentities(o options, protocols ...string) (*identities, error) {
	roots := x509.NewCertPool()
	text, err := os.ReadFile(o.authority)
	if err != nil {
		return nil, err
	}
	roots.AppendCertsFromPEM(text)
	base := &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS13, NextProtos: protocols}
	found := &identities{base: base}
	if o.chains == "" {
		return found, nil
	}
	key, err := os.ReadFile(o.key)
	if err != nil {
		return nil, err
	}
	rest, err := os.ReadFile(o.chains)
	if err != nil {
		return nil, err
	}
	var chain []byte
	add := func() error {
		if len(chain) == 0 {
			return nil
		}
		certificate, err := tls.X509KeyPair(chain, key)
		chain = nil
		found.chains = append(found.chains, certificate)
		return err
	}
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		// A chain begins with a certificate that is not an authority's, or that is self-signed.
		if !certificate.IsCA || certificate.Subject.String() == certificate.Issuer.String() {
			if err := add(); err != nil {
				return nil, err
			}
		}
		chain = append(chain, pem.EncodeToMemory(block)...)
	}
	if err := add(); err != nil {
		return nil, err
	}
	if len(found.chains) == 0 {
		return nil, fmt.Errorf("%s holds no certificate", o.chains)
	}
	return found, nil
}

// of returns the configuration of one client.
func (i *identities) of(number int) *tls.Config {
	config := i.base.Clone()
	if len(i.chains) > 0 {
		config.Certificates = []tls.Certificate{i.chains[number%len(i.chains)]}
	}
	return config
}
