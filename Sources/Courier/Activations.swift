package import Delivery
import Notifications
import Rates
import Synchronization
import Trust

/// Who may become a device: anyone on this machine in the development environment; elsewhere whoever holds a one-time
/// code that an administrator gave out.
package final class Activations: Sendable {
    private let invitations: any Invitations
    private let rates = Mutex(Buckets())

    private struct Buckets {
        var all = RateBucket()
        var wrong = RateBucket()
        var renewals = RateTable<DeviceKey>(Activations.renewals)
    }

    package init(invitations: any Invitations) { self.invitations = invitations }

    /// As many as devices may connect; signing is the dear part of an activation.
    private static let all = Rate(burst: 20_000, perSecond: 2000)

    /// For each device: one renewal a year is enough, and one that goes wrong may be tried again.
    private static let renewals = Rate(burst: 5, perSecond: 1 / 600)

    /// Nobody needs many tries for the code on a slip of paper.
    private static let wrong = Rate(burst: 20, perSecond: 1)

    /// Decides, without waiting, whether somebody without a code may go on.
    func admitWithoutCode(to environment: Environment, isLocal: Bool) throws(Rejection) {
        guard environment == .development, isLocal else {
            throw Rejection(.forbidden, detail: "Activation needs a code here: carillon device invite makes one.")
        }
    }

    /// Counts a certificate that is about to be signed. Asked last, so that nobody who is not admitted takes anybody's
    /// turn.
    func admitSigning(at moment: Timestamp) throws(Rejection) {
        guard rates.withLock({ $0.all.admits(Self.all, at: moment.nanoseconds) }) else {
            throw Rejection(.tooManyRequests, detail: "Too many devices are being activated.")
        }
    }

    /// Counts a renewal, whose signature is as dear as an activation's: no device takes others' turns.
    func admitRenewal(of device: DeviceKey, at moment: Timestamp) throws(Rejection) {
        guard rates.withLock({ $0.renewals.admits(device, at: moment.nanoseconds) }) else {
            throw Rejection(.tooManyRequests, detail: "This device renews its certificate too often.")
        }
    }

    /// Decides whether a code lets somebody in. It is used up only by ``use(_:to:at:)``, once there is a certificate.
    func admit(_ code: String, to environment: Environment, at moment: Timestamp) async throws {
        let digest = ActivationCode(code)?.digest
        guard let digest, try await invitations.isInvited(digest, to: environment, at: moment) else {
            guard rates.withLock({ $0.wrong.admits(Self.wrong, at: moment.nanoseconds) }) else {
                throw Rejection(.tooManyRequests, detail: "Too many wrong activation codes were tried.")
            }
            throw Rejection(.forbidden, detail: "The activation code is unknown, used, or out of date.")
        }
    }

    /// Uses up the code of an activation that succeeded.
    func use(_ code: String, to environment: Environment, at moment: Timestamp) async throws {
        let digest = ActivationCode(code)?.digest
        guard let digest, try await invitations.useInvitation(digest, to: environment, at: moment) else {
            throw Rejection(.forbidden, detail: "The activation code was used a moment ago.")
        }
    }
}
