import NIOCore
import Testing

@testable import Connections

@Suite("The names in a ClientHello")
struct ClientHelloTests {
    private static func int16(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xff)] }

    private static func `extension`(_ kind: Int, _ data: [UInt8]) -> [UInt8] { int16(kind) + int16(data.count) + data }

    private static func serverName(_ name: String) -> [UInt8] {
        let entry = [0] + int16(name.utf8.count) + Array(name.utf8)
        return `extension`(0, int16(entry.count) + entry)
    }

    private static func protocols(_ names: [String]) -> [UInt8] {
        let list = names.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        return `extension`(16, int16(list.count) + list)
    }

    private static func hello(_ extensions: [UInt8]) -> [UInt8] {
        let body =
            [3, 3] + [UInt8](repeating: 7, count: 32) + [4, 1, 2, 3, 4] + int16(2) + [0x13, 1] + [1, 0]
            + int16(extensions.count) + extensions
        let handshake = [1, 0] + int16(body.count) + body
        return [22, 3, 1] + int16(handshake.count) + handshake
    }

    private static func read(_ bytes: [UInt8]) -> ClientHello.Reading { ClientHello.read(ByteBuffer(bytes: bytes)) }

    @Test
    func `The hello names the server and the protocols`() throws {
        let bytes = Self.hello(
            Self.extension(10, [0, 2, 0, 29]) + Self.serverName("gateway.push.apple.com")
                + Self.protocols(["h2", "http/1.1"]))
        guard case .hello(let hello) = Self.read(bytes) else { throw Unreadable() }
        #expect(hello.serverName == "gateway.push.apple.com")
        #expect(hello.protocols == ["h2", "http/1.1"])
        #expect(hello.offersHTTP2)
    }

    @Test
    func `A client hello may name neither a server nor a protocol`() throws {
        guard case .hello(let hello) = Self.read(Self.hello([])) else { throw Unreadable() }
        #expect(hello.serverName == nil)
        #expect(hello.protocols.isEmpty)
    }

    @Test
    func `Every incomplete beginning of a hello is recognised as such`() {
        let bytes = Self.hello(Self.serverName("a") + Self.protocols(["h2"]))
        for count in bytes.indices { #expect(Self.read(Array(bytes[..<count])) == .incomplete) }
    }

    @Test(
        arguments: [
            Array("GET / HTTP/1.1".utf8), [22, 3, 1, 0, 1, 2], [22, 3, 1, 255, 255], [22, 3, 1, 0, 4, 1, 0, 64, 0],
            [21, 3, 3, 0, 2], [22, 3, 1, 0, 0], [22, 3, 1, 0, 5, 1, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `Bytes that are not a hello are unreadable`(_ bytes: [UInt8]) {
        #expect(Self.read(bytes) == .unreadable)
    }

    /// Somebody in between can divide it without being noticed, because the records are not protected yet.
    @Test(arguments: [1, 3, 4, 5, 40])
    func `A hello in many records is read as a whole`(_ size: Int) throws {
        let bytes = Self.hello(Self.serverName("a") + Self.protocols(["h3"]))
        let message = bytes.dropFirst(5)
        var divided: [UInt8] = []
        for start in stride(from: message.startIndex, to: message.endIndex, by: size) {
            let part = message[start..<min(start + size, message.endIndex)]
            divided += [22, 3, 3] + Self.int16(part.count) + part
        }
        guard case .hello(let hello) = Self.read(divided) else { throw Unreadable() }
        #expect(hello.protocols == ["h3"])
        var reader = ClientHello.Reader()
        for count in divided.indices { #expect(reader.read(ByteBuffer(bytes: divided[..<count])) == .incomplete) }
        #expect(reader.read(ByteBuffer(bytes: divided)) == .hello(hello))
    }

    @Test
    func `An extension that is longer than the hello makes it unreadable`() {
        #expect(Self.read(Self.hello([0, 0, 0, 9, 0])) == .unreadable)
    }

    private struct Unreadable: Error {}
}
