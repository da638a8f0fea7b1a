import PostgresClient
import PostgresSupport
import Storage

/// The secrets in the database. Each is encrypted with AES-GCM under the store key, and can be decrypted only under
/// its own name.
final class SealedSecrets: Secrets {
    /// The name of a secret with known contents, by which a node checks whether its key is the right one. It has a
    /// slash, which no ``SecretName`` has.
    private static let checkName = "store/key"
    private static let checkValue = Array("carillon".utf8)

    private let connection: PostgresConnection
    private let key: StoreKey
    private let known = SecretNames()

    init(_ connection: PostgresConnection, _ key: StoreKey) {
        self.connection = connection
        self.key = key
    }

    var isShared: Bool { true }

    /// The names of the secrets that were there when the store was last asked.
    var present: Set<SecretName> { known.all }

    func nameStream() -> AsyncStream<SecretName> { known.stream() }

    func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]? { try await read(name.rawValue) }

    func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8] {
        let kept = try await keep(value, named: name.rawValue)
        known.insert(name)
        return kept
    }

    /// Checks the key. If the store has no key yet, this one becomes the store's key. Then reads the names of the
    /// secrets.
    func open() async throws(StoreError) {
        guard try await keep(Self.checkValue, named: Self.checkName) == Self.checkValue else { throw .wrongStoreKey }
        try await findNew()
    }

    /// Looks for secrets that other nodes have added.
    func findNew() async throws(StoreError) {
        let rows = try await execute([PostgresStatement("SELECT name FROM carillon.secret")])
        for index in 0..<(rows.first?.count ?? 0) {
            guard let name = rows[0][index].text(0).flatMap(SecretName.init(rawValue:)) else { continue }
            known.insert(name)
        }
    }

    private func keep(_ value: [UInt8], named name: String) async throws(StoreError) -> [UInt8] {
        let sealed = try key.seal(value, as: name)
        let answers = try await execute([
            PostgresStatement(
                "INSERT INTO carillon.secret VALUES ($1, $2) ON CONFLICT DO NOTHING", [.text(name), .bytes(sealed)]),
            PostgresStatement("SELECT value FROM carillon.secret WHERE name = $1", [.text(name)]),
        ])
        guard let kept = answers.last?.first?.bytes(0) else {
            throw StoreError(.unavailable, "A secret that was stored is not there.")
        }
        return try key.unseal(kept, as: name)
    }

    private func read(_ name: String) async throws(StoreError) -> [UInt8]? {
        let answers = try await execute([
            PostgresStatement("SELECT value FROM carillon.secret WHERE name = $1", [.text(name)])
        ])
        return try answers.first?.first?.bytes(0).map { sealed throws(StoreError) in try key.unseal(sealed, as: name) }
    }

    private func execute(_ statements: [PostgresStatement]) async throws(StoreError) -> [PostgresRows] {
        try await PostgresStore.execute(statements, on: connection)
    }
}
