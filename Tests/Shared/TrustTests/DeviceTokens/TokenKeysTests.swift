import Credentials
import Notifications
import Testing
import Trust

@Suite("Device tokens")
struct TokenKeysTests {
    private let first = TokenKeyID(rawValue: 1)
    private let second = TokenKeyID(rawValue: 2)
    private let raw: [TokenKeyID: [UInt8]]
    private let keys: TokenKeys
    private let contents = DeviceTokenContents(
        device: DeviceID(rawValue: 0x0123_4567_89ab_cdef), app: AppID(rawValue: 0xfedc_ba98), generation: 3)

    init() throws {
        raw = [first: TokenKeys.makeKey(), second: TokenKeys.makeKey()]
        keys = try TokenKeys(keys: raw, current: second)
    }

    @Test(arguments: Environment.allCases)
    func `A token opens to what was sealed in it`(environment: Environment) throws {
        let token = try keys.seal(contents, environment: environment)
        #expect(keys.open(token, environment: environment) == contents)
    }

    @Test(arguments: [
        DeviceTokenContents(device: DeviceID(rawValue: 0), app: AppID(rawValue: 0), generation: 0),
        DeviceTokenContents(device: DeviceID(rawValue: .max), app: AppID(rawValue: .max), generation: .max),
    ])
    func `The smallest and the greatest values read back`(contents: DeviceTokenContents) throws {
        #expect(keys.open(try keys.seal(contents, environment: .production), environment: .production) == contents)
    }

    @Test(arguments: TopicKind.allCases)
    func `A token has its service and its generation`(service: TopicKind) throws {
        let contents = DeviceTokenContents(
            device: contents.device, app: contents.app, generation: TokenNumber.lastGeneration, service: service)
        let opened = try #require(
            keys.open(try keys.seal(contents, environment: .production), environment: .production))
        #expect(opened.service == service)
        #expect(opened.generation == TokenNumber.lastGeneration)
        #expect(opened.isFor(service, isStrict: true))
        #expect(TopicKind.allCases.filter { opened.isFor($0, isStrict: false) }.count == (service == .app ? 9 : 1))
        #expect(service.serviceName.flatMap { TopicKind(serviceName: $0) } ?? .app == service)
    }

    @Test(arguments: [32, 80, 100])
    func `The token of a Live Activity has 80 bytes, with the activity and its end inside`(tokenByteCount: Int) throws {
        let keys = try TokenKeys(keys: raw, current: second, tokenByteCount: tokenByteCount)
        let activity = DeviceTokenContents.Activity(
            id: ActivityID(high: 1, low: .max), ends: Timestamp(milliseconds: 1_800_000_000_000))
        let number = TokenNumber.make(generation: 3, service: .liveActivity)
        let contents = DeviceTokenContents(
            device: contents.device, app: contents.app, number: number, activity: activity)
        let token = try keys.seal(contents, environment: .development)
        #expect(token.count == max(80, tokenByteCount))
        #expect(keys.open(token, environment: .development) == contents)
        #expect(keys.open(token, environment: .production) == nil)
    }

    @Test
    func `A token for a service that is not known here is not opened`() throws {
        let contents = DeviceTokenContents(device: contents.device, app: contents.app, number: .max)
        #expect(keys.open(try keys.seal(contents, environment: .production), environment: .production) == nil)
    }

    @Test
    func `A registration always has the same token, from this process or another`() throws {
        let token = try keys.seal(contents, environment: .development)
        #expect(try keys.seal(contents, environment: .development) == token)
        #expect(try TokenKeys(keys: raw, current: second).seal(contents, environment: .development) == token)
    }

    @Test
    func `Any other device, app, generation, service, environment or key makes another token`() throws {
        let others = [
            contents,
            DeviceTokenContents(device: DeviceID(rawValue: 1), app: contents.app, generation: 3),
            DeviceTokenContents(device: contents.device, app: AppID(rawValue: 1), generation: 3),
            DeviceTokenContents(device: contents.device, app: contents.app, generation: 4),
            DeviceTokenContents(device: contents.device, app: contents.app, generation: 3, service: .voip),
        ]
        var tokens: Set<DeviceToken> = []
        for other in others {
            for environment in Environment.allCases {
                for key in [first, second] {
                    tokens.insert(try keys.seal(other, environment: environment, key: key))
                }
            }
        }
        #expect(tokens.count == 20)
    }

    @Test
    func `A token does not open in the other environment`() throws {
        #expect(keys.open(try keys.seal(contents, environment: .development), environment: .production) == nil)
    }

    @Test
    func `A token does not open without its key`() throws {
        let token = try keys.seal(contents, environment: .development, key: first)
        let others = try TokenKeys(keys: [second: TokenKeys.makeKey()], current: second)
        #expect(others.open(token, environment: .development) == nil)
    }

    @Test(arguments: 0..<DeviceToken.byteCount)
    func `A token in which any bit was changed does not open`(index: Int) throws {
        let token = try keys.seal(contents, environment: .development)
        for bit in 0..<8 {
            var bytes = token.bytes
            bytes[index] ^= 1 << UInt8(bit)
            #expect(keys.open(DeviceToken(bytes: bytes), environment: .development) == nil)
        }
    }

    @Test(arguments: [33, 64, 100])
    func `A longer token opens, whatever the present length is; nothing else opens`(count: Int) throws {
        let long = try TokenKeys(keys: raw, current: second, tokenByteCount: count)
        let token = try long.seal(contents, environment: .development)
        #expect(token.count == count)
        #expect(try long.seal(contents, environment: .development) == token)
        #expect(keys.open(token, environment: .development) == contents)
        #expect(keys.open(token, environment: .production) == nil)
        #expect(long.open(try keys.seal(contents, environment: .development), environment: .development) == contents)
        for index in 0..<count {
            var bytes = token.array
            bytes[index] ^= 1
            #expect(keys.open(try #require(DeviceToken(bytes)), environment: .development) == nil)
        }
        #expect(keys.open(try #require(DeviceToken(token.array.prefix(32))), environment: .development) == nil)
    }

    @Test(arguments: [0, 31, 101])
    func `Device tokens have 32 to 100 bytes`(count: Int) {
        #expect(throws: TrustError.self) { try TokenKeys(keys: raw, current: second, tokenByteCount: count) }
    }

    @Test(arguments: [0, 0xff] as [UInt8])
    func `Tokens of only zeros or ones do not open`(byte: UInt8) {
        #expect(keys.open(DeviceToken(bytes: SIMD32(repeating: byte)), environment: .development) == nil)
    }

    @Test
    func `A truncated token is refused`() throws {
        let bytes = try keys.seal(contents, environment: .development).array
        #expect(DeviceToken(bytes.dropLast()) == nil)
    }

    @Test
    func `After a change of keys the new one seals new tokens, and old tokens stay and open`() throws {
        let old = try TokenKeys(keys: [first: #require(raw[first])], current: first)
        let token = try old.seal(contents, environment: .development)
        #expect(keys.current == second)
        #expect(keys.open(token, environment: .development) == contents)
        #expect(try keys.seal(contents, environment: .development, key: first) == token)
        #expect(try keys.seal(contents, environment: .development) != token)
    }

    @Test
    func `Sealing with a missing key is an error`() {
        expect(.untrusted) { try keys.seal(contents, environment: .development, key: TokenKeyID(rawValue: 9)) }
    }

    @Test
    func `The keys can be read as they were given`() {
        #expect(keys.rawKeys == raw)
    }

    @Test
    func `A new key has 32 random bytes`() {
        #expect(TokenKeys.makeKey().count == TokenKeys.keyByteCount)
        #expect(TokenKeys.makeKey() != TokenKeys.makeKey())
    }

    @Test(arguments: [0, 16, 31, 33])
    func `Keys of another length are refused`(length: Int) {
        expect(.malformed) {
            try TokenKeys(keys: [first: [UInt8](repeating: 1, count: length)], current: first)
        }
    }

    @Test
    func `The current key has to be among the keys`() {
        expect(.malformed) { try TokenKeys(keys: [:], current: first) }
    }

    @Test
    func `Too many keys are refused`() {
        let many = (0...UInt32(TokenKeys.maximumCount)).map { (TokenKeyID(rawValue: $0), TokenKeys.makeKey()) }
        expect(.tooLarge) {
            try TokenKeys(keys: Dictionary(uniqueKeysWithValues: many), current: TokenKeyID(rawValue: 0))
        }
    }
}
