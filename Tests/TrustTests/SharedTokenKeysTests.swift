import Notifications
import Testing

@testable import Trust

@Suite("Device tokens opened before")
struct SharedTokenKeysTests {
    private let keys: SharedTokenKeys

    init() throws {
        let id = TokenKeyID(rawValue: 1)
        keys = SharedTokenKeys(try TokenKeys(keys: [id: TokenKeys.makeKey()], current: id))
    }

    private func contents(_ number: UInt64) -> DeviceTokenContents {
        DeviceTokenContents(device: DeviceID(rawValue: number), app: AppID(rawValue: 7), generation: 1)
    }

    @Test("More tokens than are remembered say what they say, the first time and the second")
    func manyTokens() throws {
        let all = try (0..<5000).map { (contents($0), try keys.current.seal(contents($0), environment: .development)) }
        for _ in 0..<2 {
            for (contents, token) in all { #expect(keys.open(token, environment: .development) == contents) }
        }
    }

    @Test("A token that was opened is not good in the other environment")
    func otherEnvironment() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        #expect(keys.open(token, environment: .production) == nil)
    }

    @Test("One bit away from a token that was opened is nothing", arguments: 0..<DeviceToken.byteCount)
    func forged(index: Int) throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        var bytes = token.bytes
        bytes[index] ^= 1
        #expect(keys.open(DeviceToken(bytes: bytes), environment: .development) == nil)
    }

    @Test("A key that joins leaves tokens that were opened good")
    func newKey() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        #expect(keys.open(token, environment: .development) == contents(1))
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 2))
        #expect(keys.open(token, environment: .development) == contents(1))
    }

    @Test("No more are remembered than there is room for")
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

    @Test("The newest key seals, in whichever order keys are heard of")
    func newestSeals() throws {
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 3))
        try keys.add(TokenKeys.makeKey(), as: TokenKeyID(rawValue: 2))
        #expect(keys.current.current == TokenKeyID(rawValue: 3))
    }

    @Test("A key that is known stays as it is")
    func knownKeyStays() throws {
        let token = try keys.current.seal(contents(1), environment: .development)
        try keys.add(TokenKeys.makeKey(), as: keys.current.current)
        #expect(try keys.current.seal(contents(1), environment: .development) == token)
    }

    @Test("A key that seals and is not known is asked for")
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
