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

    @Test func `A Unix socket is on this machine`() throws {
        #expect(try SocketAddress(unixDomainSocketPath: "/tmp/socket").isLoopback)
    }
}
