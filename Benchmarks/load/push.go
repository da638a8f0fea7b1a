package main

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// runPush sends notifications over several connections and prints how long it took until all were answered. Each
// connection sends to its own share of the devices, one after the other.
func runPush(o options) error {
	protocols := map[string][]string{"carillon": {"h2"}}
	trusted, err := loadIdentities(o, protocols[o.kind]...)
	if err != nil {
		return err
	}
	paths := []string{"/4/broadcasts/apps/com.example.app"}
	if o.channel == "" {
		text, err := os.ReadFile(o.paths)
		if err != nil {
			return err
		}
		paths = strings.Fields(string(text))
	}
	began := time.Now()
	failures := make(chan error, o.connections)
	var all sync.WaitGroup
	for number := 0; number < o.connections; number++ {
		sender, err := newSender(o, trusted, number)
		if err != nil {
			return err
		}
		all.Add(1)
		go func(number int) {
			defer all.Done()
			if err := sender.run(paths, number); err != nil {
				failures <- err
			}
		}(number)
	}
	all.Wait()
	select {
	case err := <-failures:
		return err
	default:
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"sent": float64(o.count / o.connections * o.connections), "seconds": time.Since(began).Seconds(),
	})
}

// sender is one connection of a provider. It limits the number of notifications under way.
type sender struct {
	options    options
	connection net.Conn
	in         *bufio.Reader
	tickets    chan struct{}
	answered   chan error
	// How many body bytes the server accepts now (RFC 9113, 5.2).
	room       int
	roomMutex  sync.Mutex
	roomGrown  *sync.Cond
	table      headerTable
	writeMutex sync.Mutex
}

func newSender(o options, trusted *identities, number int) (*sender, error) {
	connection, err := tls.Dial("tcp", o.address, trusted.of(number))
	if err != nil {
		return nil, err
	}
	s := &sender{options: o, connection: connection, in: bufio.NewReaderSize(connection, 16384), room: 65535}
	s.roomGrown = sync.NewCond(&s.roomMutex)
	s.tickets = make(chan struct{}, o.window)
	s.answered = make(chan error, 1)
	open := preface()
	if o.kind == "mqtt" {
		open = mqttOpen(fmt.Sprintf("provider-%d", number), "")
	}
	_, err = connection.Write(open)
	return s, err
}

func (s *sender) run(paths []string, number int) error {
	count := s.options.count / s.options.connections
	read := s.readHTTP2
	if s.options.kind == "mqtt" {
		read = s.readMQTT
	}
	go func() { s.answered <- read(count) }()
	began := time.Now()
	var out []byte
	for sent := 0; sent < count; sent++ {
		if s.options.rate > 0 {
			due := time.Duration(float64(sent) * float64(s.options.connections) / s.options.rate * 1e9)
			if wait := due - time.Since(began); wait > 0 {
				if err := s.flush(&out); err != nil {
					return err
				}
				time.Sleep(wait)
			}
		}
		select {
		case s.tickets <- struct{}{}:
		default:
			if err := s.flush(&out); err != nil {
				return err
			}
			select {
			case s.tickets <- struct{}{}:
			case err := <-s.answered:
				return fmt.Errorf("the connection ended: %v", err)
			}
		}
		device := (sent*s.options.connections + number) % len(paths)
		out = s.appendNotification(out, paths[device], device, sent)
		// The first request is sent alone: until a provider token was valid, the service allows one stream (Guide, 2.3.3).
		if sent == 0 || len(out) > 8192 {
			if err := s.flush(&out); err != nil {
				return err
			}
		}
		for sent == 0 && len(s.tickets) > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	if err := s.flush(&out); err != nil {
		return err
	}
	return <-s.answered
}

func (s *sender) flush(out *[]byte) error {
	if len(*out) == 0 {
		return nil
	}
	s.writeMutex.Lock()
	_, err := s.connection.Write(*out)
	s.writeMutex.Unlock()
	*out = (*out)[:0]
	return err
}

const payload = `{"aps":{"alert":{"title":"Lunch","body":"The table is laid for twelve, come down."}},"sent":%d}`

func (s *sender) appendNotification(out []byte, path string, device, number int) []byte {
	body := []byte(fmt.Sprintf(payload, time.Now().UnixNano()))
	if s.options.kind == "mqtt" {
		packet := appendString(nil, s.options.topic(device))
		packet = binary.BigEndian.AppendUint16(packet, uint16(number%65535+1))
		return appendPacket(out, mqttPublish, append(packet, body...))
	}
	s.roomMutex.Lock()
	for s.room < len(body) {
		s.roomMutex.Unlock()
		s.flush(&out)
		s.roomMutex.Lock()
		if s.room < len(body) {
			s.roomGrown.Wait()
		}
	}
	s.room -= len(body)
	s.roomMutex.Unlock()
	headers := s.appendHeaders(nil, path, fmt.Sprintf("123e4567-e89b-12d3-a456-%012x", number))
	stream := uint32(2*number + 1)
	out = appendFrame(out, frameHeaders, flagEndHeaders, stream, headers)
	return appendFrame(out, frameData, flagEndStream, stream, body)
}

func (s *sender) readHTTP2(count int) error {
	var buffer []byte
	for answers := 0; answers < count; {
		received, err := readFrame(s.in, &buffer)
		if err != nil {
			return err
		}
		switch {
		case received.kind == frameHeaders:
			if received.payload[0] != status200 {
				return fmt.Errorf("a notification was not accepted: % x", received.payload)
			}
			answers++
			<-s.tickets
		case received.kind == frameWindowUpdate && received.stream == 0:
			s.roomMutex.Lock()
			s.room += int(binary.BigEndian.Uint32(received.payload))
			s.roomMutex.Unlock()
			s.roomGrown.Signal()
		default:
			out, err := housekeeping(received)
			if err != nil {
				return err
			}
			if err := s.flush(&out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sender) readMQTT(count int) error {
	var buffer []byte
	for answers := 0; answers < count; {
		kind, _, err := readPacket(s.in, &buffer)
		if err != nil {
			return err
		}
		if kind&0xf0 == mqttPubAck {
			answers++
			<-s.tickets
		}
	}
	return nil
}

// appendHeaders encodes a request as the Guide requires (2.3.4.1, HPACK): path and authorization as literals that enter
// no table, the names of apns-id and apns-expiration in the table, and all other fields completely in the table.
func (s *sender) appendHeaders(to []byte, path, id string) []byte {
	table := &s.table
	to = append(to, methodPost, schemeHTTPS)
	to = appendText(append(to, indexPath), path)
	to = table.appendKnown(to, ":authority", "localhost")
	// The index of the name does not fit into the four bits of the first byte.
	to = appendText(append(to, 0x0f, indexAuthorization-0x0f), "bearer "+s.options.token)
	if s.options.channel != "" {
		to = table.appendKnown(to, "apns-channel-id", s.options.channel)
		to = table.appendNamed(to, "apns-request-id", id)
		to = table.appendKnown(to, "apns-push-type", "liveactivity")
	} else {
		to = table.appendKnown(to, "apns-topic", "com.example.app")
		to = table.appendNamed(to, "apns-id", id)
		to = table.appendKnown(to, "apns-push-type", "alert")
	}
	to = table.appendKnown(to, "apns-priority", "10")
	if s.options.expiration != "" {
		to = table.appendNamed(to, "apns-expiration", s.options.expiration)
	}
	return to
}
