import CommonTesting
import Credentials
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

    @Test
    func `More tokens than are remembered are opened correctly, the first time and the second`() throws {
        let all = try (0..<5000).map { (contents($0), try keys.current.seal(contents($0), environment: .development)) }
        for _ in 0..<2 {
            for (contents, token) in all { #expect(keys.open(token, environment: .development) == contents) }
        }
    }

    @Test
    func `A remembered token is not valid in the other environment`() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        #expect(keys.open(token, environment: .production) == nil)
    }

    @Test(arguments: 0..<DeviceToken.byteCount)
    func `A token that differs in one bit from a remembered one is refused`(index: Int) throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        var bytes = token.bytes
        bytes[index] ^= 1
        #expect(keys.open(DeviceToken(bytes: bytes), environment: .development) == nil)
    }

    @Test
    func `Remembered tokens stay valid if a key is added`() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 2))
        #expect(keys.open(token, environment: .development) == contents(1))
    }

    @Test
    func `The number of remembered tokens is limited`() throws {
        let opened = OpenedTokens()
        var random = SeededGenerator()
        let room = OpenedTokens.shardCount * OpenedTokens.maximumSlotsPerShard
        for number in 0..<UInt64(room * 2) {
            let words = SIMD4<UInt64>(random.next(), random.next(), random.next(), random.next())
            let token = DeviceToken(bytes: unsafeBitCast(words, to: SIMD32<UInt8>.self))
            opened.remember(contents(number), of: token, environment: .development)
        }
        #expect(opened.count <= room)
    }

    @Test
    func `The newest key seals, in whatever order the keys arrive`() throws {
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 3))
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 2))
        #expect(keys.current.current == TokenKeyID(rawValue: 3))
    }

    @Test
    func `A known key is not replaced`() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        try keys.add(TokenKeys.makeKey(), as: keys.current.current)
        #expect(try keys.current.seal(contents(1), environment: .development) == token)
    }

    @Test
    func `An unknown key that has sealed a token is looked up`() async throws {
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
