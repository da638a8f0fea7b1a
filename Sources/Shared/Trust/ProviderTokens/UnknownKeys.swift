package import Crypto
package import Notifications
import Synchronization

/// The keys that nobody has created, and whose provider tokens the service accepts without verifying them
/// (`carillon serve --accept any`).
///
/// A provider token does not contain the public key. So the service remembers the newest token of each key, and compares
/// it with a key that is created later with the same identifier.
package final class UnknownKeys: Sendable {
    /// The number of remembered keys. Each takes at most 4 KiB, all of them 4 MiB. A test suite has a few; if there
    /// are more, the oldest is forgotten, and a later key with its identifier is not compared.
    package static let maximumCount = 1000

    /// The signed bytes of a provider token, and its signature.
    struct Evidence: Sendable {
        let signed: [UInt8]
        let signature: P256.Signing.ECDSASignature
    }

    private struct Name: Hashable {
        let team: TeamID
        let key: KeyID
    }

    private struct State {
        var evidence: [Name: Evidence] = [:]
        /// The keys in the order in which they were seen first.
        var order: [Name] = []
    }

    private let state = Mutex(State())

    package init() {}

    func remember(_ key: KeyID, of team: TeamID, _ evidence: Evidence) {
        let name = Name(team: team, key: key)
        state.withLock { state in
            guard state.evidence.updateValue(evidence, forKey: name) == nil else { return }
            state.order.append(name)
            guard state.order.count > Self.maximumCount else { return }
            state.evidence[state.order.removeFirst()] = nil
        }
    }

    /// Whether a new key may have this identifier: no provider token with it was accepted, or the key verifies the
    /// newest of them.
    package func match(_ key: KeyID, of team: TeamID, _ publicKey: P256.Signing.PublicKey) -> Bool {
        guard let evidence = state.withLock({ $0.evidence[Name(team: team, key: key)] }) else { return true }
        return publicKey.isValidSignature(evidence.signature, for: evidence.signed)
    }

    /// Forgets the keys of a team that was deleted.
    package func forget(_ team: TeamID) {
        state.withLock { state in
            state.evidence = state.evidence.filter { $0.key.team != team }
            state.order.removeAll { $0.team == team }
        }
    }
}
