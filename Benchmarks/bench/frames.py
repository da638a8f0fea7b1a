"""A small HTTP/2 client, which can do just enough to send a request and read its answer (RFC 9113, RFC 7541)."""

import socket
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
END_STREAM, END_HEADERS, ACKNOWLEDGE = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    """Encodes a field as a literal that is not added to the table, without Huffman coding."""
    return b"\x00" + text(name) + text(value)


def text(value):
    encoded = value.encode()
    length = len(encoded)
    if length < 127:
        return bytes([length]) + encoded
    prefix, rest = b"\x7f", length - 127
    while rest >= 128:
        prefix += bytes([rest & 127 | 128])
        rest >>= 7
    return prefix + bytes([rest]) + encoded


def fields(method, path, *more):
    pseudo = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    return b"".join(literal(name, value) for name, value in [*pseudo, *more])


class Connection:
    """A connection over TLS on which the HTTP/2 preface was sent."""

    def __init__(self, port, authority=None, certificate=None, key=None):
        context = ssl.create_default_context(cafile=authority)
        if authority is None:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(certificate, key)
        plain = socket.create_connection(("127.0.0.1", port), timeout=30)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        # The bodies of all answers together may have as many bytes as the window can have: nothing else updates it.
        window = frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7FFFFFFF - 65_535))
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0) + window)
        self.unread = b""
        self.stream = -1

    def read_frame(self):
        while True:
            if len(self.unread) >= 9:
                end = 9 + int.from_bytes(self.unread[:3], "big")
                if len(self.unread) >= end:
                    head, self.unread, payload = self.unread[:9], self.unread[end:], self.unread[9:end]
                    return head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, payload
            received = self.socket.recv(65_536)
            if not received:
                raise ConnectionError("the peer closed the connection")
            self.unread += received

    def begin(self, block, body=b""):
        self.stream += 2
        flags = END_HEADERS if body else END_HEADERS | END_STREAM
        data = frame(DATA, END_STREAM, self.stream, body) if body else b""
        self.socket.sendall(frame(HEADERS, flags, self.stream, block) + data)

    def frames(self):
        """Yields the frames of the newest request. Answers SETTINGS and PING frames."""
        while True:
            kind, flags, stream, payload = self.read_frame()
            if kind == SETTINGS and not flags & ACKNOWLEDGE:
                self.socket.sendall(frame(SETTINGS, ACKNOWLEDGE, 0))
            elif kind == PING and not flags & ACKNOWLEDGE:
                self.socket.sendall(frame(PING, ACKNOWLEDGE, 0, payload))
            elif stream == self.stream:
                yield kind, flags, payload

    def send(self, block, body=b""):
        """Sends a request and waits for the end of its answer, which has to be 200."""
        self.begin(block, body)
        self.finish()

    def finish(self):
        """Waits for the end of the answer to the newest request, which has to be 200."""
        for kind, flags, payload in self.frames():
            # `:status 200` of the static table comes first (RFC 7541, A).
            if kind == RESET or kind == HEADERS and not payload.startswith(b"\x88"):
                raise ConnectionError("the request was not accepted")
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                return

    def first_line(self, block):
        """Sends a request and waits for the first line of its body."""
        self.begin(block)
        received = b""
        for kind, _, payload in self.frames():
            if kind == DATA:
                received += payload
                line, newline, _ = received.partition(b"\n")
                if newline and line:
                    return line

    def close(self):
        self.socket.close()
