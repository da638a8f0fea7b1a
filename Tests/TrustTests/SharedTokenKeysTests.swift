import Notifications
import Testing

@testable import Trust

@Suite("Remembered device tokens")
struct SharedTokenKeysTests {
    private let keys: SharedTokenKeys

    init() throws {
        let id = TokenKeyID(rawValue: 1)
        keys = SharedTokenKeys(try TokenKeys(keys: [id: TokenKeys.makeKey()], current: id))
    }

    private func contents(_ number: UInt64) -> DeviceTokenContents {
        DeviceTokenContents(device: DeviceID(rawValue: number), app: AppID(rawValue: 7), generation: 1)
    }

    @Test("More tokens than are remembered are opened correctly, the first time and the second")
    func manyTokens() throws {
        let all = try (0..<5000).map { (contents($0), try keys.current.seal(contents($0), environment: .development)) }
        for _ in 0..<2 {
            for (contents, token) in all { #expect(keys.open(token, environment: .development) == contents) }
        }
    }

    @Test("A remembered token is not valid in the other environment")
    func otherEnvironment() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        #expect(keys.open(token, environment: .production) == nil)
    }

    @Test("A token that differs in one bit from a remembered one is refused", arguments: 0..<DeviceToken.byteCount)
    func forged(index: Int) throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        var bytes = token.bytes
        bytes[index] ^= 1
        #expect(keys.open(DeviceToken(bytes: bytes), environment: .development) == nil)
    }

    @Test("Remembered tokens stay valid if a key is added")
    func newKey() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 2))
        #expect(keys.open(token, environment: .development) == contents(1))
    }

    @Test("The number of remembered tokens is limited")
    func bound() throws {
        let opened = OpenedTokens()
        var random = SystemRandomNumberGenerator()
        let room = OpenedTokens.shardCount * OpenedTokens.maximumSlotsPerShard
        for number in 0..<UInt64(room * 2) {
            let words = SIMD4<UInt64>(random.next(), random.next(), random.next(), random.next())
            let token = DeviceToken(bytes: unsafeBitCast(words, to: SIMD32<UInt8>.self))
            opened.remember(contents(number), of: token, environment: .development)
        }
        #expect(opened.count <= room)
    }

    @Test("The newest key seals, in whatever order the keys arrive")
    func newestSeals() throws {
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 3))
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 2))
        #expect(keys.current.current == TokenKeyID(rawValue: 3))
    }

    @Test("A known key is not replaced")
    func knownKeyStays() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        try keys.add(TokenKeys.makeKey(), as: keys.current.current)
        #expect(try keys.current.seal(contents(1), environment: .development) == token)
    }

    @Test("An unknown key that has sealed a token is looked up")
    func asksForKey() async throws {
        let id = TokenKeyID(rawValue: 2)
        let elsewhere = try TokenKeys(keys: [id: TokenKeys.makeKey()], current: id)
        let shared = SharedTokenKeys(keys.current, find: { _ in elsewhere.rawKeys })
        let token = try await shared.seal(contents(1), environment: .development, key: id)
        #expect(token == (try elsewhere.seal(contents(1), environment: .development)))
        #expect(shared.open(token, environment: .development) == contents(1))
        await #expect(throws: TrustError.self) {
            try await shared.seal(contents(1), environment: .development, key: TokenKeyID(rawValue: 3))
        }
    }
}
