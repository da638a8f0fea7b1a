import Crypto
import Delivery
import Foundation
import PostgresClient

/// The key that encrypts a store's secrets. It is in a file on each node and never in the database. So whoever can
/// read the database or its backup cannot make device tokens or certificates.
package struct StoreKey: Sendable {
    let key: SymmetricKey

    /// - Parameter text: 64 hexadecimal digits; a newline may follow.
    /// - Returns: nil if it is anything else.
    package init?(hexadecimal text: String) {
        let digits = text.utf8.reversed().drop { $0 == 10 || $0 == 13 }.reversed()
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue.map(UInt8.init) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        key = SymmetricKey(data: bytes)
    }
}

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

    func names() -> AsyncStream<SecretName> { known.stream() }

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
        let sealed = try seal(value, as: name)
        let answers = try await execute([
            PostgresStatement(
                "INSERT INTO carillon.secret VALUES ($1, $2) ON CONFLICT DO NOTHING", [.text(name), .bytes(sealed)]),
            PostgresStatement("SELECT value FROM carillon.secret WHERE name = $1", [.text(name)]),
        ])
        guard let kept = answers.last?.first?.bytes(0) else {
            throw StoreError(.unavailable, "A secret that was stored is not there.")
        }
        return try unseal(kept, as: name)
    }

    private func read(_ name: String) async throws(StoreError) -> [UInt8]? {
        let answers = try await execute([
            PostgresStatement("SELECT value FROM carillon.secret WHERE name = $1", [.text(name)])
        ])
        return try answers.first?.first?.bytes(0).map { sealed throws(StoreError) in try unseal(sealed, as: name) }
    }

    private func execute(_ statements: [PostgresStatement]) async throws(StoreError) -> [PostgresRows] {
        try await PostgresStore.execute(statements, on: connection)
    }

    private func seal(_ value: [UInt8], as name: String) throws(StoreError) -> [UInt8] {
        do {
            let box = try AES.GCM.seal(value, using: key.key, authenticating: Array(name.utf8))
            return box.combined.map(Array.init) ?? []
        } catch {
            throw StoreError(.unavailable, "A secret cannot be sealed.")
        }
    }

    private func unseal(_ sealed: [UInt8], as name: String) throws(StoreError) -> [UInt8] {
        do {
            return Array(
                try AES.GCM.open(
                    AES.GCM.SealedBox(combined: sealed), using: key.key, authenticating: Array(name.utf8)))
        } catch {
            throw .wrongStoreKey
        }
    }
}

extension StoreError {
    static let wrongStoreKey = StoreError(
        .unreadable,
        "The store key is not the one with which this database was made: use the key file of the other nodes.")
}
