import NIOCore
import Testing

@testable import Connections

@Suite("The header of a load balancer")
struct ProxyHeaderTests {
    private static func read(_ bytes: [UInt8]) -> ProxyHeader.Reading {
        ProxyHeader.read(ByteBuffer(bytes: bytes).readableBytesView)
    }

    private static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]

    private static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 0xff)] + rest
    }

    private static let addresses4: [UInt8] = [192, 0, 2, 7, 10, 0, 0, 1, 0x30, 0x39, 0x08, 0x95]
    private static let addresses6: [UInt8] =
        [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [9] + [UInt8](repeating: 1, count: 16)
        + [0x30, 0x39, 0x08, 0x95]

    private static let headers: [(bytes: [UInt8], client: String?)] = [
        (Array("PROXY TCP4 192.0.2.7 10.0.0.1 12345 2197\r\n".utf8), "192.0.2.7"),
        (Array("PROXY TCP6 2001:db8::9 ::1 12345 2197\r\n".utf8), "2001:db8::9"),
        (Array("PROXY UNKNOWN\r\n".utf8), nil),
        (Array("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n".utf8), nil),
        (binary(0x21, 0x11, addresses4), "192.0.2.7"),
        (binary(0x21, 0x11, addresses4 + [UInt8](repeating: 3, count: 300)), "192.0.2.7"),
        (binary(0x21, 0x21, addresses6), "2001:db8::9"),
        (binary(0x20, 0x00, []), nil),
        (binary(0x20, 0x11, addresses4), nil),
        (binary(0x21, 0x00, []), nil),
    ]

    @Test(arguments: ProxyHeaderTests.headers.indices)
    func `Versions 1 and 2 name the client, or no client`(_ index: Int) throws {
        let (bytes, client) = Self.headers[index]
        // Bytes after the header are not read.
        guard case .complete(let address, let length) = Self.read(bytes + [22, 3, 1]) else {
            Issue.record("It was not read.")
            return
        }
        #expect(length == bytes.count)
        #expect(address?.ipAddress == client)
        #expect(client == nil || address?.port == 12345)
    }

    @Test(arguments: ProxyHeaderTests.headers.indices)
    func `Every incomplete beginning of a header is recognised as such`(_ index: Int) {
        let bytes = Self.headers[index].bytes
        for count in bytes.indices { #expect(Self.read(Array(bytes[..<count])) == .incomplete, "\(count)") }
    }

    @Test(
        arguments: [
            [22, 3, 1, 0, 200], Array("GET / HTTP/1.1\r\n".utf8), Array("PROXY TCP4 192.0.2.7\r\n".utf8),
            Array("PROXY TCP4 2001:db8::9 ::1 1 2\r\n".utf8), Array("PROXY TCP6 192.0.2.7 10.0.0.1 1 2\r\n".utf8),
            Array("PROXY TCP4 192.0.2.7 10.0.0.1 65536 2197\r\n".utf8),
            Array("PROXY TCP4 192.0.2.7 10.0.0.1 +1 2197\r\n".utf8),
            Array("PROXY TCP4 example.com 10.0.0.1 1 2197\r\n".utf8),
            Array("PROXY TCP4 192.0.2.7\u{0}x 10.0.0.1 1 2197\r\n".utf8),
            Array("PROXY UDP4 192.0.2.7 10.0.0.1 1 2\r\n".utf8),
            Array("PROXY TCP4 192.0.2.7 10.0.0.1 1 2\rX".utf8),
            Array("PROXY \(String(repeating: "A", count: 102))".utf8),
            ProxyHeaderTests.binary(0x11, 0x11, ProxyHeaderTests.addresses4),
            ProxyHeaderTests.binary(0x22, 0x11, ProxyHeaderTests.addresses4),
            ProxyHeaderTests.binary(0x21, 0x12, ProxyHeaderTests.addresses4),
            ProxyHeaderTests.binary(0x21, 0x31, ProxyHeaderTests.addresses4),
            ProxyHeaderTests.binary(0x21, 0x11, Array(ProxyHeaderTests.addresses4.dropLast())),
            ProxyHeaderTests.binary(0x21, 0x21, ProxyHeaderTests.addresses4),
            ProxyHeaderTests.binary(0x21, 0x11, [UInt8](repeating: 0, count: ProxyHeader.maximumAdditionalBytes + 1)),
        ] as [[UInt8]])
    func `Any other bytes are invalid`(_ bytes: [UInt8]) {
        #expect(Self.read(bytes) == .invalid)
    }
}

@Suite("Ranges of addresses")
struct AddressRangeTests {
    private func address(_ text: String) throws -> SocketAddress { try SocketAddress(ipAddress: text, port: 1) }

    @Test(arguments: [
        ("192.0.2.0/24", "192.0.2.255", true), ("192.0.2.0/24", "192.0.3.0", false),
        ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.128/25", "192.0.2.128", true),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false), ("0.0.0.0/0", "203.0.113.1", true),
        ("0.0.0.0/0", "2001:db8::1", false), ("2001:db8::/33", "2001:db8:7fff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false), ("192.0.2.0/24", "::ffff:192.0.2.9", true),
    ])
    func `A range contains the addresses with its prefix`(_ range: String, _ text: String, _ isIn: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(address(text)) == isIn)
    }

    @Test(arguments: [
        "", "/8", "192.0.2.0/", "192.0.2.0/33", "192.0.2.1/24", "2001:db8::/129", "example.com/8", "192.0.2.0/8/8",
        "192.0.2.0/-1", "192.0.2.0/+8",
    ])
    func `Any other text is not a range`(_ text: String) {
        #expect(AddressRange(text) == nil)
    }
}
