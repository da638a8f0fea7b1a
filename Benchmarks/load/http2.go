package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// The frames of HTTP/2 (RFC 9113, 4 and 6) that the load needs, and no others.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4
)

// bigWindow is announced once for the connection and for each stream, so that no further WINDOW_UPDATE is needed.
const bigWindow = 1 << 30

type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

func appendFrame(to []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	length := len(payload)
	to = append(to, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	to = binary.BigEndian.AppendUint32(to, stream)
	return append(to, payload...)
}

func preface() []byte {
	out := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	out = appendFrame(out, frameSettings, 0, 0, []byte{0, 4, bigWindow >> 24, 0, 0, 0})
	return appendFrame(out, frameWindowUpdate, 0, 0, []byte{(bigWindow - 65536) >> 24 & 0xff, 0xff, 0, 0})
}

// readFrame reads one frame. Its payload is valid until the next call with the same buffer.
func readFrame(in *bufio.Reader, buffer *[]byte) (frame, error) {
	var head [9]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return frame{}, err
	}
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	if cap(*buffer) < length {
		*buffer = make([]byte, length)
	}
	payload := (*buffer)[:length]
	_, err := io.ReadFull(in, payload)
	return frame{head[3], head[4], binary.BigEndian.Uint32(head[5:]) & 0x7fffffff, payload}, err
}

// Header fields by their index in the static table (RFC 7541, 6.1 and A), and that of the status 200.
const (
	methodGet   = 0x82
	methodPost  = 0x83
	schemeHTTPS = 0x87
	status200   = 0x88
	status204   = 0x89

	// The indices of names in the static table.
	indexMethod        = 2
	indexPath          = 4
	indexAuthorization = 23
	staticEntries      = 61
)

func appendText(to []byte, text string) []byte {
	if len(text) < 127 {
		return append(append(to, byte(len(text))), text...)
	}
	to = append(to, 127)
	rest := len(text) - 127
	for rest >= 128 {
		to = append(to, byte(rest)|0x80)
		rest >>= 7
	}
	return append(append(to, byte(rest)), text...)
}

func appendRequest(to []byte, method byte, path string) []byte {
	to = append(to, method, schemeHTTPS, indexPath)
	to = appendText(to, path)
	return appendText(append(to, 0x01), "localhost")
}

// appendPut is a request whose method is not in the static table.
func appendPut(to []byte, path string) []byte {
	to = append(appendText(append(to, indexMethod), "PUT"), schemeHTTPS, indexPath)
	to = appendText(to, path)
	return appendText(append(to, 0x01), "localhost")
}

// headerTable knows the dynamic table (RFC 7541, 2.3.2), which never gets so full that an entry is removed.
type headerTable struct{ names []string }

// index returns the index of a name, counted through both tables; 0 if the name is not there yet.
func (t *headerTable) index(name string) byte {
	for i, known := range t.names {
		if known == name {
			return byte(staticEntries + len(t.names) - i)
		}
	}
	return 0
}

// enter encodes a field and adds it to the table (RFC 7541, 6.2.1).
func (t *headerTable) enter(to []byte, name, value string) []byte {
	t.names = append(t.names, name)
	return appendText(appendText(append(to, 0x40), name), value)
}

// appendKnown encodes a field whose value is always the same: from the second time on, by its index in the table.
func (t *headerTable) appendKnown(to []byte, name, value string) []byte {
	if index := t.index(name); index > 0 {
		return append(to, 0x80|index)
	}
	return t.enter(to, name, value)
}

// appendNamed encodes the name by its index in the table, and the value as a literal that is not added to it (RFC 7541, 6.2.2).
func (t *headerTable) appendNamed(to []byte, name, value string) []byte {
	if index := t.index(name); index > 0 {
		return appendText(append(to, 0x0f, index-0x0f), value)
	}
	return t.enter(to, name, value)
}

// housekeeping answers frames of the connection itself. The result has to be written.
func housekeeping(f frame) ([]byte, error) {
	switch {
	case f.kind == frameSettings && f.flags&flagAck == 0:
		return appendFrame(nil, frameSettings, flagAck, 0, nil), nil
	case f.kind == framePing && f.flags&flagAck == 0:
		return appendFrame(nil, framePing, flagAck, 0, f.payload), nil
	case f.kind == frameGoAway:
		return nil, fmt.Errorf("the server said goodbye: %s", f.payload[8:])
	case f.kind == frameReset:
		return nil, fmt.Errorf("the server reset stream %d", f.stream)
	}
	return nil, nil
}
