import Notifications
import Testing

@testable import Trust

/// Handles and the encryption of the device tokens that they stand for.
struct HandleKeyTests {
    private let app = AppID(rawValue: 7)
    private let token = [UInt8](0..<32)

    private func key(_ byte: UInt8 = 1) throws -> HandleKey {
        try #require(HandleKey([UInt8](repeating: byte, count: HandleKey.byteCount)))
    }

    private func grant(_ last: String = "a") throws -> GrantID {
        try #require(GrantID(rawValue: "g_aaaaaaaaaaaaaaa" + last))
    }

    private func handle(_ key: HandleKey, _ token: [UInt8]? = nil) throws -> Handle {
        try #require(
            key.handle(of: token ?? self.token, app: app, environment: .production, grant: try grant()))
    }

    @Test func `The same token and grant give the same handle`() throws {
        #expect(try handle(key()) == handle(key()))
    }

    @Test func `Everything that a handle is for changes it`() throws {
        let key = try key()
        let handles = [
            try handle(key), try handle(key, [1] + token), try handle(try self.key(2)),
            key.handle(of: token, app: AppID(rawValue: 8), environment: .production, grant: try grant()),
            key.handle(of: token, app: app, environment: .development, grant: try grant()),
            key.handle(of: token, app: app, environment: .production, grant: try grant("b")),
        ]
        #expect(Set(handles).count == handles.count)
    }

    @Test(arguments: [8, 32, 200])
    func `A sealed token is opened with its handle, and does not contain the token`(_ count: Int) throws {
        let (key, token) = (try key(), [UInt8](repeating: 0x5a, count: count))
        let handle = try handle(key, token)
        let sealed = try key.seal(token, of: handle)
        #expect(sealed.count == count + 16)
        #expect(!sealed.indices.contains { Array(sealed[$0...].prefix(8)) == Array(token.prefix(8)) })
        #expect(key.open(sealed, of: handle) == token)
    }

    @Test func `A sealed token is not opened with another handle or key, or after a change`() throws {
        let key = try key()
        let (one, other) = (try handle(key), try handle(key, [1] + token))
        var sealed = try key.seal(token, of: one)
        #expect(key.open(sealed, of: other) == nil)
        #expect(try self.key(2).open(sealed, of: one) == nil)
        sealed[3] ^= 1
        #expect(key.open(sealed, of: one) == nil)
        #expect(key.open([], of: one) == nil)
    }

    @Test func `A secret has 32 bytes`() {
        #expect(HandleKey([UInt8](repeating: 1, count: 31)) == nil)
        #expect(HandleKey(HandleKey.makeSecret()) != nil)
    }

    @Test func `Identifiers are read as they are written`() throws {
        var random = SystemRandomNumberGenerator()
        let id = GrantID.random(using: &random)
        #expect(GrantID(rawValue: id.rawValue) == id)
        for text in ["", "g_", "g_aaaaaaaaaaaaaaa", "g_aaaaaaaaaaaaaaaaa", "g_AAAAAAAAAAAAAAAA", "k_aaaaaaaaaaaaaaaa"] {
            #expect(GrantID(rawValue: text) == nil)
        }
        let handle = try #require(Handle(token))
        #expect(Handle(handle.description) == handle)
        #expect(Handle(handle.description.uppercased()) == handle)
        for text in ["", "00", handle.description + "00", "g" + handle.description.dropFirst()] {
            #expect(Handle(text) == nil)
        }
        #expect(GrantClientKey().text != GrantClientKey().text)
        #expect(GrantClientKey().text.hasPrefix("ck_") && GrantClientKey().text.utf8.count == 46)
    }
}
