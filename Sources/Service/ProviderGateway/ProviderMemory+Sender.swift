import Delivery
import Notifications
import Trust

// Determines who sends a request.
extension ProviderMemory {
    /// Returns the sender of a request with this `authorization` header.
    mutating func sender(_ authorization: Span<UInt8>, gateway: ProviderGateway) -> ProviderRequest.Sender {
        do throws(Rejection) {
            return .token(try token(authorization, gateway: gateway))
        } catch {
            return .rejected(error)
        }
    }

    /// Checks a certificate against the accounts and the machine's time.
    mutating func check(_ certificate: ProviderIdentity, gateway: ProviderGateway) throws(Rejection) {
        try certificate.check(
            environment: gateway.environment, isTrusted: trusts(certificate, gateway: gateway),
            now: Double(gateway.clock.machineTime.milliseconds) / 1000)
    }

    /// Checks the sender and the app again, because the accounts may have changed since the request's headers.
    /// - Parameter deletion: the rejection if the app was deleted.
    mutating func checkAgain(
        _ request: ProviderRequest,
        to app: AppID,
        gateway: ProviderGateway,
        deletion: @autoclosure () -> Rejection,
    ) throws(Rejection) {
        guard isCurrent(gateway) else { throw .accountsNotCurrent }
        guard version(gateway) != request.accountsVersion else { return }
        let accounts = current(gateway)
        switch request.sender {
        case .certificate(let certificate): try check(certificate, gateway: gateway)
        case .token(let token): try token.checkKey(in: accounts)
        default: break
        }
        guard accounts.app(app) != nil else { throw deletion() }
    }
}
