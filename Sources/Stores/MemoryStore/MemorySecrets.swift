package import Delivery
import Synchronization

/// Secrets in memory. They are lost when the service ends.
package final class MemorySecrets: Secrets {
    package let isShared: Bool
    private let values = Mutex<[SecretName: [UInt8]]>([:])
    private let known = SecretNames()

    package init(isShared: Bool = false) { self.isShared = isShared }

    package func names() -> AsyncStream<SecretName> { known.stream() }

    package func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]? { values.withLock { $0[name] } }

    package func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8] {
        let kept = values.withLock { values in
            let kept = values[name] ?? value
            values[name] = kept
            return kept
        }
        known.insert(name)
        return kept
    }
}
