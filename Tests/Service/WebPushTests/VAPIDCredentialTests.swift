import HTTPTypes
import Testing
import Trust
import WebPush

/// Where a token and its key are in a request (RFC 8292, 3, and its draft 1).
struct VAPIDCredentialTests {
    private let server = VAPIDFixture()

    private func read(_ values: String..., key: String? = nil) throws(VAPIDFault) -> VAPIDCredential? {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .authorization, value: value)) }
        if let key { fields[HTTPField.Name("Crypto-Key") ?? .accept] = key }
        return try VAPIDCredential.read(fields)
    }

    @Test func `t and k are in either order, with blanks around`() throws {
        let key = server.key
        for text in [
            "vapid t=a.b.c, k=\(key)", "vapid k=\(key),t=a.b.c", "VAPID  t = a.b.c ,\tk = \(key) ",
            "vapid t=\"a.b.c\", k=\"\(key)\"", "vapid t=a.b.c, k=\(key)=, x=y", "vapid t=a.b.c;k=\(key)",
        ] {
            let read = try #require(try read(text), "\(text)")
            #expect(read.token == Array("a.b.c".utf8) && read.key == server.keyBytes, "\(text)")
        }
    }

    @Test func `Draft 1 has the key in Crypto-Key`() throws {
        for field in [
            "p256ecdsa=\(server.key)", "dh=AA;p256ecdsa=\(server.key)", "keyid=a;dh=AA, p256ecdsa=\(server.key)",
        ] {
            let read = try #require(try read("WebPush a.b.c", key: field), "\(field)")
            #expect(read.token == Array("a.b.c".utf8) && read.key == server.keyBytes)
        }
        for field in [
            nil, "dh=\(server.key)", "p256ecdsa=AA", "p256ecdsa",
            "p256ecdsa=\(server.key), p256ecdsa=\(VAPIDFixture().key)",
        ] {
            #expect(throws: VAPIDFault.self) { try read("WebPush a.b.c", key: field) }
        }
    }

    @Test func `Another scheme is no token`() throws {
        #expect(try read() == nil)
        for text in ["Bearer a.b.c", "Basic AAAA", "vapidt=a", ""] { #expect(try read(text) == nil, "\(text)") }
    }

    @Test func `A token that cannot be read is a fault`() {
        let key = server.key
        for text in [
            "vapid", "vapid ", "vapid t=a.b.c", "vapid k=\(key)", "vapid t=a, t=b, k=\(key)", "vapid t=a, k=AA",
            "vapid t=a, k=\(key), k=\(key)", "vapid a.b.c", "vapid t=a k=\(key)", "WebPush",
            "vapid,t=a.b.c, k=\(key)", "vapid=a.b.c", "WebPush;a.b.c",
        ] {
            #expect(throws: VAPIDFault.self, "\(text)") { try read(text) }
        }
        #expect(throws: VAPIDFault.self) { try read("vapid t=a.b.c, k=\(key)", "Bearer x") }
        #expect(throws: VAPIDFault.self) { try read("Bearer x", "vapid t=a.b.c, k=\(key)") }
    }

    @Test func `Another key makes another digest`() throws {
        let one = try read("vapid t=a.b.c, k=\(server.key)")
        #expect(try one?.digest == read("vapid k=\(server.key), t=a.b.c")?.digest)
        #expect(try one?.digest != read("vapid t=a.b.c, k=\(VAPIDFixture().key)")?.digest)
        #expect(try one?.digest != read("vapid t=a.b.d, k=\(server.key)")?.digest)
    }
}
