import Connections
import NIOCore
import Testing

@Suite struct LoopbackTests {
    @Test(arguments: [
        "localhost", "LOCALHOST", "127.0.0.1", "127.0.0.2", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1", "[::1]",
        "::ffff:127.0.0.1", "[::FFFF:127.0.0.1]", "::ffff:7f00:1",
    ])
    func `Hosts on this machine`(_ host: String) {
        #expect(host.isLoopbackHost)
        #expect(host.mayBeThisMachine)
    }

    @Test(arguments: [
        "localhost.", "evil.localhost", "127.1", "127.0.0.1.", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1",
        "0.0.0.0",
        "::", "[::]", "",
    ])
    func `Literals that may lead to this machine`(_ host: String) {
        #expect(host.mayBeThisMachine && !host.isLoopbackHost)
    }

    @Test(arguments: [
        "example.com", "127.evil.example", "10.0.0.1", "[2001:db8::1]", "a1.example2", "localhost.evil.example",
    ])
    func `Names and addresses of other machines`(_ host: String) {
        #expect(!host.mayBeThisMachine)
    }

    @Test(arguments: [
        "127.evil.example", "127.0.0.1.evil.example", "127.0.0.1\u{0}.evil.example", "localhost.evil.example",
        "evil.localhost", "localhost.", "", ".", "127.", "127.0.0", "127.1", "127.0.0.1.", "127.0.0.256", "127..1",
        "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", " 127.0.0.1", "126.0.0.1", "128.0.0.1", "0.0.0.0", "::",
        "::2", "::1:1", "1::1", "::127.0.0.1", "::ffff:128.0.0.1", "[127.0.0.1]", "[::1", "::1]", "[]", "[localhost]",
        "::1%evil",
    ])
    func `Hosts that may be elsewhere`(_ host: String) {
        #expect(!host.isLoopbackHost)
    }

    @Test(arguments: ["0.0.0.0", "::", "0::0", "::0", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0", "::0.0.0.0"])
    func `Addresses that stand for all addresses of a machine`(_ host: String) {
        #expect(host.isEveryAddress && host.mayBeThisMachine && !host.isLoopbackHost)
    }

    @Test(arguments: [
        "", "0", "*", "localhost", "127.0.0.1", "::1", "0.0.0.1", "[::]", "0.0.0.0.example.com",
        "0.0.0.0\u{0}.example.com",
    ])
    func `Hosts that are not all addresses of a machine`(_ host: String) {
        #expect(!host.isEveryAddress)
    }

    /// C, which reads the text of an address, stops at a zero byte.
    @Test func `A name that begins with an address and a zero byte is no address`() {
        #expect("127.0.0.1".isIPAddress && "::1".isIPAddress)
        #expect(!"127.0.0.1\u{0}.example.com".isIPAddress && !"::1\u{0}".isIPAddress)
        #expect(AddressRange("10.0.0.0\u{0}.example.com/8") == nil && AddressRange("10.0.0.0\u{0}") == nil)
        #expect("127.0.0.1".socketAddress(port: 65_536) == nil)
    }

    @Test(
        arguments: [
            ("127.0.0.1:2199", "127.0.0.1", 2199), ("localhost:0", "localhost", 0), ("[::1]:65535", "::1", 65_535),
            ("push.example.com:443", "push.example.com", 443), ("a_b:080", "a_b", 80),
        ] as [(String, String, Int)])
    func `A host and a port`(_ text: String, _ host: String, _ port: Int) throws {
        let read = try #require(text.hostAndPort)
        #expect(read.host == host && read.port == port)
    }

    @Test(arguments: [
        "", ":", "a", "a:", ":80", "a:+80", "a:-1", "a:65536", "a:99999", "a:8 0", "a: 80", "[::1", "[::1:80",
        "::1]:80",
        "[]:80", "[[::1]]:80", "http://a:80", "user@a:80", "a b:80", "a\u{0}:80", "a:٣",
    ])
    func `What is no host and port`(_ text: String) {
        #expect(text.hostAndPort == nil)
    }

    @Test func `A Unix socket is on this machine`() throws {
        #expect(try SocketAddress(unixDomainSocketPath: "/tmp/socket").isLoopback)
    }
}
