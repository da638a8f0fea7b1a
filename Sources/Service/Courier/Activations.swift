package import Delivery
import Notifications
import Rates
import Synchronization
import Trust

/// Decides who may activate a device: in the development environment anybody on this machine, otherwise anybody with
/// a one-time code from an administrator.
package final class Activations: Sendable {
    private let invitations: any Invitations
    private let rates = Mutex(Buckets())

    private struct Buckets {
        var all = RateBucket()
        var wrongCodes = RateBucket()
        var renewals = RateTable<DeviceKey>(Activations.renewalRate)
    }

    package init(invitations: any Invitations) { self.invitations = invitations }

    /// The rate of all activations. It is the rate at which devices may connect, because signing is the expensive
    /// part of an activation.
    private static let rate = Rate(burst: 20_000, perSecond: 2000)

    /// The rate of renewals for each device. One renewal a year is enough, and a failed one may be repeated.
    private static let renewalRate = Rate(burst: 5, perSecond: 1 / 600)

    /// The rate of wrong codes. Nobody needs many attempts to type a code.
    private static let wrongCodeRate = Rate(burst: 20, perSecond: 1)

    /// Decides, without waiting, whether an activation without a code may continue.
    func admitWithoutCode(to environment: Environment, isLocal: Bool) throws(Rejection) {
        guard environment == .development, isLocal else {
            throw Rejection(.forbidden, detail: "Activation needs a code here: carillon device invite makes one.")
        }
    }

    /// Counts a certificate that is about to be signed. Call it last, so that a refused request does not use up the
    /// rate.
    func admitSigning(at moment: Timestamp) throws(Rejection) {
        guard rates.withLock({ $0.all.admits(Self.rate, at: moment.nanoseconds) }) else {
            throw Rejection(.tooManyRequests, detail: "Too many devices are being activated.")
        }
    }

    /// Counts a renewal. Its signature costs as much as an activation's, so one device must not use up the rate of
    /// others.
    func admitRenewal(of device: DeviceKey, at moment: Timestamp) throws(Rejection) {
        guard rates.withLock({ $0.renewals.admits(device, at: moment.nanoseconds) }) else {
            throw Rejection(.tooManyRequests, detail: "This device renews its certificate too often.")
        }
    }

    /// Checks an activation code. Only ``use(_:to:for:at:)`` uses it up, when there is a certificate.
    /// - Returns: What the code was used for, if it was; nil if it can be used.
    func admit(_ code: String, to environment: Environment, at moment: Timestamp) async throws -> Activation? {
        guard let digest = ActivationCode(code)?.digest else { throw wrongCode(at: moment) }
        if try await invitations.isInvited(digest, to: environment, at: moment) { return nil }
        guard let used = try await invitations.activation(of: digest, to: environment, at: moment) else {
            throw wrongCode(at: moment)
        }
        return used
    }

    /// Counts a wrong code.
    /// - Returns: the refusal.
    func wrongCode(at moment: Timestamp) -> Rejection {
        guard rates.withLock({ $0.wrongCodes.admits(Self.wrongCodeRate, at: moment.nanoseconds) }) else {
            return Rejection(.tooManyRequests, detail: "Too many wrong activation codes were tried.")
        }
        return Rejection(.forbidden, detail: "The activation code is unknown, used, withdrawn or expired.")
    }

    /// Uses a code up for a device.
    /// - Returns: This activation, or the one of another request with the same code and key a moment ago.
    func use(
        _ code: String,
        to environment: Environment,
        for activation: Activation,
        at moment: Timestamp,
    ) async throws -> Activation {
        let digest = ActivationCode(code)?.digest
        guard let digest,
            let used = try await invitations.useInvitation(digest, to: environment, for: activation, at: moment)
        else {
            throw Rejection(.forbidden, detail: "The activation code was used or withdrawn a moment ago.")
        }
        return used
    }
}
