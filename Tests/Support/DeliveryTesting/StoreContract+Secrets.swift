import Storage
import Testing

extension StoreContract {
    static let secretPromises: [Promise] = [
        Promise("there is no secret before the first one is kept", noSecret),
        Promise("a secret reads back as it was kept", keepsSecret),
        Promise("the first value of a secret stays", firstSecretStays),
        Promise("callers that keep a secret at the same time agree on one value", keepersAgree),
        Promise("secrets of different names are independent", secretsAreApart),
        Promise("the stream has the names of existing secrets, and then of each new one", namesFollow),
        Promise("every reader gets the names of all secrets, however slowly it reads", namesForAll),
    ]

    @Sendable
    private static func noSecret(_ ports: Ports) async throws {
        #expect(try await ports.secrets.secret(Samples.secret()) == nil)
    }

    @Sendable
    private static func keepsSecret(_ ports: Ports) async throws {
        for (index, size) in [0, 1, 10_000].enumerated() {
            let value = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
            let name = try Samples.secret("secret.\(index)")
            #expect(try await ports.secrets.keep(value, as: name) == value)
            #expect(try await ports.secrets.secret(name) == value)
        }
    }

    @Sendable
    private static func firstSecretStays(_ ports: Ports) async throws {
        _ = try await ports.secrets.keep([1], as: Samples.secret())
        #expect(try await ports.secrets.keep([2], as: Samples.secret()) == [1])
        #expect(try await ports.secrets.secret(Samples.secret()) == [1])
    }

    @Sendable
    private static func keepersAgree(_ ports: Ports) async throws {
        let name = try Samples.secret()
        let kept = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for value in 1...10 as ClosedRange<UInt8> {
                group.addTask { try await ports.secrets.keep([value], as: name) }
            }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(kept.count == 1)
        #expect(try await ports.secrets.secret(name) == kept.first)
    }

    @Sendable
    private static func secretsAreApart(_ ports: Ports) async throws {
        _ = try await ports.secrets.keep([1], as: Samples.secret("one"))
        _ = try await ports.secrets.keep([2], as: Samples.secret("two"))
        #expect(try await ports.secrets.secret(Samples.secret("one")) == [1])
        #expect(try await ports.secrets.secret(Samples.secret("two")) == [2])
    }

    @Sendable
    private static func namesFollow(_ ports: Ports) async throws {
        _ = try await ports.secrets.keep([1], as: Samples.secret("one"))
        var names = ports.secrets.nameStream().makeAsyncIterator()
        #expect(await names.next() == (try Samples.secret("one")))
        _ = try await ports.secrets.keep([2], as: Samples.secret("two"))
        // This secret exists already.
        _ = try await ports.secrets.keep([3], as: Samples.secret("one"))
        _ = try await ports.secrets.keep([3], as: Samples.secret("three"))
        #expect(await names.next() == (try Samples.secret("two")))
        #expect(await names.next() == (try Samples.secret("three")))
    }

    @Sendable
    private static func namesForAll(_ ports: Ports) async throws {
        let streams = (0..<3).map { _ in ports.secrets.nameStream() }
        let expected = try (1...20).map { try Samples.secret("secret-\($0)") }
        for name in expected { _ = try await ports.secrets.keep([1], as: name) }
        for stream in streams {
            var names = stream.makeAsyncIterator()
            var heard: Set<SecretName> = []
            while heard.count < expected.count, let name = await names.next() { heard.insert(name) }
            #expect(heard == Set(expected))
        }
    }
}
