package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// runDevices connects devices, reports that, and then obeys standard input: "await N SECONDS" waits until the devices have
// received N notifications since the last report, or for that time, and prints a report; "end" closes all connections.
func runDevices(o options) error {
	protocols := map[string][]string{"carillon": {"h2"}}
	trusted, err := loadIdentities(o, protocols[o.kind]...)
	if err != nil {
		return err
	}
	fleet := &fleet{options: o, trusted: trusted}
	began := time.Now()
	if err := fleet.connect(); err != nil {
		return err
	}
	fmt.Printf("{\"connected\":%d,\"seconds\":%.2f}\n", o.count, time.Since(began).Seconds())
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() && commands.Text() != "end" {
		var count int
		var seconds float64
		if _, err := fmt.Sscanf(commands.Text(), "await %d %g", &count, &seconds); err != nil {
			return fmt.Errorf("unknown command %q", commands.Text())
		}
		json.NewEncoder(os.Stdout).Encode(fleet.await(count, time.Duration(seconds*float64(time.Second))))
	}
	for _, connection := range fleet.connections {
		connection.Close()
	}
	return nil
}

type fleet struct {
	options     options
	trusted     *identities
	connections []*tls.Conn
	lost        int64
	mutex       sync.Mutex
	latencies   []time.Duration
	// The number of notifications that await waits for, and the channel that is closed when they are there.
	awaited int
	reached chan struct{}
}

func (f *fleet) connect() error {
	f.connections = make([]*tls.Conn, f.options.count)
	numbers := make(chan int)
	failures := make(chan error, f.options.parallel)
	var all sync.WaitGroup
	for i := 0; i < f.options.parallel; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := range numbers {
				if err := f.open(number); err != nil {
					failures <- fmt.Errorf("device %d: %w", number, err)
					return
				}
			}
		}()
	}
	for number := 0; number < f.options.count; number++ {
		select {
		case numbers <- number:
		case err := <-failures:
			return err
		}
	}
	close(numbers)
	all.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// open connects one device and waits until it can receive notifications.
func (f *fleet) open(number int) error {
	// Use several addresses, because one address has too few ports.
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+number%8))}
	dialer := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: from, Timeout: 30 * time.Second}, Config: f.trusted.of(f.options.first + number)}
	connection, err := dialer.Dial("tcp", f.options.address)
	if err != nil {
		return err
	}
	f.connections[number] = connection.(*tls.Conn)
	ready := make(chan error, 1)
	listen := f.listenHTTP2
	if f.options.kind == "mqtt" {
		listen = f.listenMQTT
	}
	go func() {
		if err := listen(number, connection, ready); err != nil {
			atomic.AddInt64(&f.lost, 1)
			select {
			case ready <- err:
			default:
			}
		}
	}()
	return <-ready
}

func (f *fleet) listenHTTP2(_ int, connection net.Conn, ready chan<- error) error {
	in := bufio.NewReaderSize(connection, 2048)
	out := preface()
	// How many answers have to be there until the device gets what is sent.
	missing := 1
	// The numbers of the stream of notifications, and of the one request for all acknowledgements.
	listening := uint32(1)
	if f.options.channel != "" {
		missing = 2
		put := appendPut(nil, "/1/apps/com.example.app/channels/"+f.options.channel)
		out = appendFrame(out, frameHeaders, flagEndStream|flagEndHeaders, listening, put)
		listening = 3
	}
	request := appendRequest(nil, methodGet, "/1/notifications")
	out = appendFrame(out, frameHeaders, flagEndStream|flagEndHeaders, listening, request)
	if _, err := connection.Write(out); err != nil {
		return err
	}
	var buffer, line []byte
	// One request for all acknowledgements. They are short and the server reads them at once, so the window never closes.
	acknowledgements := uint32(0)
	var sendings []byte
	for {
		received, err := readFrame(in, &buffer)
		if err != nil {
			return err
		}
		out, err := housekeeping(received)
		if err != nil {
			return err
		}
		switch {
		case received.kind == frameHeaders && received.stream < listening:
			if received.payload[0] != status204 {
				return fmt.Errorf("the subscription was refused")
			}
			if missing--; missing == 0 {
				ready <- nil
			}
		case received.kind == frameHeaders && received.stream == listening:
			if received.payload[0] != status200 {
				return fmt.Errorf("the stream of notifications was refused")
			}
			if missing--; missing == 0 {
				ready <- nil
			}
		case received.kind == frameData && received.stream == listening:
			line = append(line, received.payload...)
			for {
				end := bytes.IndexByte(line, '\n')
				if end < 0 {
					break
				}
				if number := numberAfter(line[:end], `"sending":`); number != "" {
					f.note(line[:end])
					sendings = append(append(sendings, number...), ',')
				}
				line = line[:copy(line, line[end+1:])]
			}
		}
		if len(sendings) > 0 && in.Buffered() == 0 {
			if acknowledgements == 0 {
				acknowledgements = listening + 2
				request := appendRequest(nil, methodPost, "/1/acknowledgements")
				out = appendFrame(out, frameHeaders, flagEndHeaders, acknowledgements, request)
			}
			body := append([]byte(`{"sendings":[`), sendings[:len(sendings)-1]...)
			out = appendFrame(out, frameData, 0, acknowledgements, append(body, "]}\n"...))
			sendings = sendings[:0]
		}
		if len(out) > 0 {
			if _, err := connection.Write(out); err != nil {
				return err
			}
		}
	}
}

func (f *fleet) listenMQTT(number int, connection net.Conn, ready chan<- error) error {
	in := bufio.NewReaderSize(connection, 2048)
	if _, err := connection.Write(mqttOpen(fmt.Sprintf("device-%d", number), f.options.topic(number))); err != nil {
		return err
	}
	var buffer, out []byte
	for {
		kind, body, err := readPacket(in, &buffer)
		if err != nil {
			return err
		}
		switch kind & 0xf0 {
		case mqttConnAck:
			if body[1] != 0 {
				return fmt.Errorf("the broker refused: %d", body[1])
			}
		case mqttSubAck:
			ready <- nil
		case mqttPublish & 0xf0:
			identifier, payload := mqttMessage(body)
			f.note(payload)
			out = appendPacket(out, mqttPubAck, []byte{byte(identifier >> 8), byte(identifier)})
		}
		if len(out) > 0 && in.Buffered() == 0 {
			if _, err := connection.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
}

// note records how long a payload was under way: the payload contains the time when it was sent.
func (f *fleet) note(text []byte) {
	sent, err := strconv.ParseInt(numberAfter(text, `"sent":`), 10, 64)
	if err != nil {
		return
	}
	latency := time.Since(time.Unix(0, sent))
	f.mutex.Lock()
	f.latencies = append(f.latencies, latency)
	if f.reached != nil && len(f.latencies) >= f.awaited {
		close(f.reached)
		f.reached = nil
	}
	f.mutex.Unlock()
}

func numberAfter(text []byte, name string) string {
	start := bytes.Index(text, []byte(name))
	if start < 0 {
		return ""
	}
	start += len(name)
	end := start
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return string(text[start:end])
}
