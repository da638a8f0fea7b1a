import Storage
import Synchronization

/// Secrets in memory. They are lost when the service ends.
final class MemorySecrets: Secrets {
    private let values = Mutex<[SecretName: [UInt8]]>([:])
    private let known = SecretNames()

    var isShared: Bool { false }

    func nameStream() -> AsyncStream<SecretName> { known.stream() }

    func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]? { values.withLock { $0[name] } }

    func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8] {
        let kept = values.withLock { values in
            let kept = values[name] ?? value
            values[name] = kept
            return kept
        }
        known.insert(name)
        return kept
    }
}
