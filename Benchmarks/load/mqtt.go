package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// The packets of MQTT 3.1.1 (2.2, 3.1 to 3.8) that the load needs, and no others.
const (
	mqttConnect    = 0x10
	mqttConnAck    = 0x20
	mqttPublish    = 0x32 // QoS 1
	mqttPubAck     = 0x40
	mqttSubscribe  = 0x82
	mqttSubAck     = 0x90
	mqttKeepAlive  = 600
	mqttCleanStart = 2
)

func appendPacket(to []byte, kind byte, body []byte) []byte {
	to = append(to, kind)
	length := len(body)
	for length >= 128 {
		to = append(to, byte(length)|0x80)
		length >>= 7
	}
	return append(append(to, byte(length)), body...)
}

func appendString(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(text))), text...)
}

func mqttTopic(device int) string { return fmt.Sprintf("devices/%d", device) }

// topic is the one of a device, or of all of them.
func (o options) topic(device int) string {
	if o.channel != "" {
		return o.channel
	}
	return mqttTopic(device)
}

// mqttOpen connects, and subscribes if a topic is given.
func mqttOpen(name, topic string) []byte {
	body := appendString(nil, "MQTT")
	body = append(body, 4, mqttCleanStart, mqttKeepAlive>>8, mqttKeepAlive&0xff)
	out := appendPacket(nil, mqttConnect, appendString(body, name))
	if topic != "" {
		out = appendPacket(out, mqttSubscribe, append(appendString([]byte{0, 1}, topic), 1))
	}
	return out
}

// readPacket reads one packet. Its body is valid until the next call with the same buffer.
func readPacket(in *bufio.Reader, buffer *[]byte) (kind byte, body []byte, err error) {
	if kind, err = in.ReadByte(); err != nil {
		return
	}
	length, shift := 0, 0
	for {
		var part byte
		if part, err = in.ReadByte(); err != nil {
			return
		}
		length |= int(part&0x7f) << shift
		shift += 7
		if part&0x80 == 0 {
			break
		}
	}
	if cap(*buffer) < length {
		*buffer = make([]byte, length)
	}
	body = (*buffer)[:length]
	_, err = io.ReadFull(in, body)
	return
}

// mqttMessage parses a PUBLISH.
func mqttMessage(body []byte) (identifier uint16, payload []byte) {
	topic := int(binary.BigEndian.Uint16(body))
	return binary.BigEndian.Uint16(body[2+topic:]), body[4+topic:]
}
