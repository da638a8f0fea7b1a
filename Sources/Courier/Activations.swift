import Delivery
package import Notifications
import Rates
import Synchronization

/// Who may become a device: anyone on this machine in the development environment; elsewhere whoever holds a one-time
/// code that an administrator gave out.
package final class Activations: Sendable {
    /// How long a code is good: long enough to carry it to the device, too short to be found lying about.
    package static let codeLife = Duration.seconds(24 * 60 * 60)

    /// How many codes may be waiting for their devices; an order of devices fits, memory stays bounded.
    package static let maximumCodes = 100_000

    private let state: Mutex<State>

    private struct State {
        var codes: [String: Code] = [:]
        var all = RateBucket()
        var wrong = RateBucket()
    }

    private struct Code {
        let environment: Environment
        let expires: Timestamp
    }

    package init() {
        state = Mutex(State())
    }

    /// As many as devices may connect; signing is the dear part of an activation.
    private static let all = Rate(burst: 20_000, perSecond: 2000)

    /// A code has 100 bits: nobody finds one by trying, and nobody needs many tries for the one on a slip of paper.
    private static let wrong = Rate(burst: 20, perSecond: 1)

    /// Makes a code that lets one device in.
    /// - Returns: 20 capital letters and digits; nil when too many are waiting.
    package func invite(
        to environment: Environment,
        now: Timestamp,
        using generator: inout some RandomNumberGenerator,
    ) -> String? {
        let code = TeamID.random(using: &generator).rawValue + TeamID.random(using: &generator).rawValue
        return state.withLock { state in
            state.codes = state.codes.filter { $0.value.expires > now }
            guard state.codes.count < Self.maximumCodes else { return nil }
            state.codes[code] = Code(environment: environment, expires: now.advanced(by: Self.codeLife))
            return code
        }
    }

    /// Decides whether an activation may go on. A code is used up only by ``use(_:)``, once there is a certificate.
    func admit(
        code: String?,
        to environment: Environment,
        isLocal: Bool,
        now: Timestamp,
    ) throws(Rejection) {
        try state.withLock { state throws(Rejection) in
            if let code {
                guard let known = state.codes[code], known.environment == environment, known.expires > now else {
                    guard state.wrong.admits(Self.wrong, at: now.nanoseconds) else {
                        throw Rejection(.tooManyRequests, detail: "Too many wrong activation codes were tried.")
                    }
                    throw Rejection(.forbidden, detail: "The activation code is unknown, used, or out of date.")
                }
            } else {
                guard environment == .development, isLocal else {
                    throw Rejection(
                        .forbidden, detail: "Activation takes a code here: carillon device invite makes one.")
                }
            }
            // Counted last, so that nobody who is not admitted takes anybody's turn.
            guard state.all.admits(Self.all, at: now.nanoseconds) else {
                throw Rejection(.tooManyRequests, detail: "Too many devices are being activated.")
            }
        }
    }

    /// Uses up the code of an activation that succeeded; false where somebody else was quicker.
    func use(_ code: String) -> Bool {
        state.withLock { $0.codes.removeValue(forKey: code) != nil }
    }
}
