import Foundation
import NIOCore

// The renewal of the identity before its certificate expires.
extension DeviceLink {
    enum Renewal {
        case none
        case underWay
        /// There was a renewal. The next one is not tried before this time.
        case done(NIODeadline)
    }

    /// The pause after a renewal, also after one that failed. The certificate is valid for months. If this device's clock is
    /// months ahead, a new certificate is due at once as well; without the pause each connection would renew it again.
    static let renewalPause = TimeAmount.hours(6)

    /// Renews the identity if two thirds of its validity period have passed.
    func renewIfDue() {
        switch renewal {
        case .none: break
        case .underWay: return
        case .done(let moment): guard eventLoop.now >= moment else { return }
        }
        guard case .connected(let connection) = state, isStreamOpen, let old = credentials,
            let renewalDate, configuration.now() >= renewalDate
        else { return }
        renewal = .underWay
        let request: RenewalRequest
        do {
            request = try RenewalRequest(of: old)
        } catch {
            return renewalFailed(error)
        }
        let timeout = TimeAmount(configuration.requestTimeout)
        connection.send(request.request, timeout: timeout) { [self] result in
            do {
                keep(try request.identity(from: result.get()))
            } catch {
                renewalFailed(error as? DeviceError ?? DeviceError(.badIdentity, "\(error)"))
            }
        }
    }

    /// Uses the new identity after the delegate has stored it.
    private func keep(_ identity: DeviceIdentity) {
        let bound = bound
        let delegate = delegate
        Task {
            do {
                let credentials = try DeviceCredentials(identity)
                try await delegate.renewed(identity)
                bound.eventLoop.execute { bound.value.use(identity, credentials) }
            } catch {
                let problem = error as? DeviceError ?? DeviceError(.storage, "\(error)")
                bound.eventLoop.execute { bound.value.renewalFailed(problem) }
            }
        }
    }

    /// Reconnects with the new identity, because the current connection would end with the old certificate.
    private func use(_ identity: DeviceIdentity, _ credentials: DeviceCredentials) {
        self.credentials = credentials
        renewed = identity
        renewalDate = credentials.validity?.renewalDate
        renewal = .done(eventLoop.now + Self.renewalPause)
        guard case .connected(let connection) = state, closing == nil else { return }
        let reason = DeviceError(.disconnected, "The identity was renewed.")
        ended(connection, reason)
        connection.fail(reason)
        guard case .waiting(let timer) = state else { return }
        timer.cancel()
        connect()
    }

    private func renewalFailed(_ error: DeviceError) {
        renewal = .done(eventLoop.now + Self.renewalPause)
        delegate.reported(DeviceError(error.code, "The identity could not be renewed: \(error)", reason: error.reason))
    }
}
