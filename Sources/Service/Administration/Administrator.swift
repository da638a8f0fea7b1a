import Notifications
import Trust

/// Who administers.
enum Administrator: Sendable {
    /// Somebody who may open the socket.
    case local
    /// Somebody over TLS, by a certificate; nil for one who presented none.
    case remote(AdministratorIdentity?)

    /// Why a request is refused before it is read; nil where it is not.
    func refusal(at now: Timestamp) -> AdministrationAnswer? {
        guard case .remote(let identity) = self else { return nil }
        guard let identity else { return .failure(403, "This takes an administrator's certificate.") }
        guard Double(now.milliseconds) / 1000 <= identity.validUntil else {
            return .failure(403, "The administrator's certificate has expired.")
        }
        return nil
    }

    /// Whether it may make other administrators: a certificate that could make its successor would be good for ever.
    var mayMakeAdministrators: Bool {
        if case .local = self { true } else { false }
    }
}
