import Crypto
import Notifications
import CommonTesting
import Testing
@testable import Trust

@Suite("Remembered provider tokens")
struct ProviderTokenVerifierTests {
    private let fixture = TokenFixture()
    private var verifier: ProviderTokenVerifier
    private let now = TokenFixture.now

    init() {
        var generator = SeededGenerator()
        verifier = ProviderTokenVerifier(conformance: .apple, capacity: 4, using: &generator)
    }

    private func tokens(_ count: Int) throws -> [[UInt8]] {
        try (0..<count).map { Array(try fixture.value(issuedAt: now - Double($0)).utf8) }
    }

    private mutating func verify(
        _ value: [UInt8],
        environment: Environment = .development,
        now: Double = TokenFixture.now,
        keys: [ProviderKey]? = nil,
    ) throws -> VerifiedProviderToken {
        let known = keys ?? [fixture.key]
        return try verifier.verify(
            authorization: value.span, environment: environment, now: now, key: { id in known.first { $0.id == id } })
    }

    private func recalls(_ value: [UInt8]) -> Bool {
        verifier.recall(authorization: value.span) != nil
    }

    @Test
    mutating func `A token is verified once`() throws {
        let value = try tokens(1)[0]
        let first = try verify(value)
        let second = try verify(value, keys: [])
        #expect(second === first)
    }

    @Test
    mutating func `A token is found whatever the case of the scheme`() throws {
        let value = try tokens(1)[0]
        _ = try verify(value)
        #expect(recalls(Array("Bearer".utf8) + value.dropFirst(6)))
    }

    @Test
    mutating func `A token that differs in one byte is not found`() throws {
        let value = try tokens(1)[0]
        _ = try verify(value)
        for index in 7..<value.count {
            var other = value
            other[index] ^= 1
            #expect(!recalls(other))
        }
    }

    @Test
    mutating func `A longer or a shorter token is not found`() throws {
        let value = try tokens(1)[0]
        _ = try verify(value)
        #expect(!recalls(value + [0]))
        #expect(!recalls(value.dropLast()))
    }

    @Test
    mutating func `A token without its scheme is not found`() throws {
        let value = try tokens(1)[0]
        _ = try verify(value)
        #expect(!recalls(Array(value.dropFirst(7))))
    }

    @Test
    mutating func `A failure is not remembered`() throws {
        let value = try tokens(1)[0]
        #expect(throws: Rejection.self) { try verify(value, keys: []) }
        #expect(verifier.rememberedCount == 0)
        #expect(throws: Never.self) { try verify(value) }
    }

    @Test
    mutating func `A remembered token's age is checked at each use`() throws {
        let value = try tokens(1)[0]
        _ = try verify(value)
        let error = #expect(throws: Rejection.self) { try verify(value, now: now + 3601) }
        #expect(error?.reason == .expiredProviderToken)
    }

    @Test
    mutating func `A remembered token's environment is checked at each use`() throws {
        let value = try tokens(1)[0]
        let key = ProviderKey(
            id: fixture.keyID, team: fixture.team, publicKey: fixture.privateKey.publicKey, environments: [.production])
        _ = try verify(value, environment: .production, keys: [key])
        let error = #expect(throws: Rejection.self) { try verify(value, environment: .development, keys: [key]) }
        #expect(error?.reason == .badEnvironmentKeyIDInToken)
    }

    @Test
    mutating func `Beyond the limit the oldest token is forgotten`() throws {
        let values = try tokens(6)
        for value in values { _ = try verify(value) }
        #expect(verifier.rememberedCount == 4)
        #expect(values.map(recalls) == [false, false, true, true, true, true])
    }

    @Test
    mutating func `A token that is used again is remembered only once`() throws {
        let value = try tokens(1)[0]
        let verified = try verify(value)
        verifier.remember(authorization: value.span, as: verified, since: verifier.revision)
        #expect(verifier.rememberedCount == 1)
    }

    @Test
    mutating func `The tokens of a revoked key are forgotten, and those of other keys are not`() throws {
        let other = TokenFixture()
        let otherID = try #require(KeyID(rawValue: "OTHERKEY01"))
        let otherValue = Array(try other.value(header: #"{"alg":"ES256","kid":"OTHERKEY01"}"#).utf8)
        let otherKey = ProviderKey(id: otherID, team: other.team, publicKey: other.privateKey.publicKey)
        let values = try tokens(2)
        for value in values { _ = try verify(value) }
        _ = try verify(otherValue, keys: [otherKey])
        verifier.forget(key: fixture.keyID)
        #expect(!values.contains(where: recalls))
        #expect(recalls(otherValue))
    }

    @Test
    mutating func `The places of forgotten tokens are used again`() throws {
        let values = try tokens(12)
        for value in values[..<4] { _ = try verify(value) }
        verifier.forget(key: fixture.keyID)
        for value in values[4...] { _ = try verify(value) }
        #expect(verifier.rememberedCount == 4)
        #expect(values[8...].allSatisfy(recalls))
    }

    @Test
    mutating func `A token that was verified before a revocation is not remembered after it`() throws {
        let value = try tokens(1)[0]
        let before = verifier.revision
        let verified = try fixture.verify(String(decoding: value, as: UTF8.self))
        verifier.forget(key: fixture.keyID)
        verifier.remember(authorization: value.span, as: verified, since: before)
        #expect(!recalls(value))
    }

    @Test
    func `Tokens of every length around a word are distinguished`() {
        var generator = SeededGenerator()
        var memory = ProviderTokenMemory(capacity: 100, using: &generator)
        let verified = VerifiedProviderToken(issuedAt: 0, key: fixture.key)
        let tokens = (0...40).map { [UInt8](repeating: 0, count: $0) }
        for token in tokens { memory.remember(token.span, as: verified) }
        #expect(memory.count == tokens.count)
        #expect(tokens.allSatisfy { memory.recall($0.span) != nil })
    }

    @Test
    func `The limit is reported when a token is forgotten for lack of room`() {
        var generator = SeededGenerator()
        var memory = ProviderTokenMemory(capacity: 2, using: &generator)
        let verified = VerifiedProviderToken(issuedAt: 0, key: fixture.key)
        let tokens = [1, 2, 2, 3].map { [UInt8](repeating: 0, count: $0) }
        let forgotten = tokens.map { memory.remember($0.span, as: verified) }
        #expect(forgotten == [false, false, false, true])
    }

    @Test
    func `Of two tokens with the same hash only the remembered one is found, and the later one is kept`() {
        var generator = SeededGenerator()
        var memory = ProviderTokenMemory(capacity: 4, using: &generator)
        let bytes = { (words: [UInt64]) in
            words.flatMap { word in withUnsafeBytes(of: word) { Array($0) } }
        }
        // The second word is chosen so that it cancels the first one's effect on the hash.
        let start = memory.seed ^ 16
        let change = ProviderTokenMemory.mixed(start, 1) ^ ProviderTokenMemory.mixed(start, 2)
        let first = bytes([1, 7])
        let second = bytes([2, 7 ^ change])
        let verified = VerifiedProviderToken(issuedAt: 0, key: fixture.key)
        memory.remember(first.span, as: verified)
        #expect(memory.recall(first.span) != nil)
        #expect(memory.recall(second.span) == nil)
        memory.remember(second.span, as: verified)
        #expect(memory.count == 1)
        #expect(memory.recall(second.span) != nil)
    }

    @Test(arguments: [0, -5])
    func `A capacity below one counts as one`(capacity: Int) throws {
        var generator = SeededGenerator()
        var verifier = ProviderTokenVerifier(conformance: .apple, capacity: capacity, using: &generator)
        for value in try tokens(3) {
            _ = try verifier.verify(
                authorization: value.span, environment: .development, now: now, key: { _ in fixture.key })
        }
        #expect(verifier.rememberedCount == 1)
    }
}

extension ProviderTokenVerifier {
    /// Does what the verifier's owner does: finds or verifies the token, checks it and remembers it.
    fileprivate mutating func verify(
        authorization: Span<UInt8>,
        environment: Environment,
        now: Double,
        key lookup: (KeyID) -> ProviderKey?,
    ) throws(Rejection) -> VerifiedProviderToken {
        if let remembered = recall(authorization: authorization) {
            try remembered.check(environment: environment, now: now)
            return remembered
        }
        let verified = try rules.verify(
            authorization: authorization, environment: environment, now: now, key: lookup)
        remember(authorization: authorization, as: verified, since: revision)
        return verified
    }
}
