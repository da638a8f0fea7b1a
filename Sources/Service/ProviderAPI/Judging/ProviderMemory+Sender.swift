import Delivery
import Notifications
import Trust

// Determines who sends a request.
extension ProviderMemory {
    /// Returns the sender of a request with this `authorization` header.
    /// - Parameter isRepeated: whether the request before had the same header.
    mutating func sender(
        _ authorization: Span<UInt8>,
        isRepeated: Bool = false,
        api: ProviderAPI,
    ) -> ProviderRequest.Sender {
        do throws(Rejection) {
            return .token(try token(authorization, isRepeated: isRepeated, api: api))
        } catch {
            return .rejected(error)
        }
    }

    /// Checks a certificate against the accounts and the machine's time.
    mutating func check(_ certificate: ProviderIdentity, api: ProviderAPI) throws(Rejection) {
        try certificate.check(
            environment: api.environment, isTrusted: trusts(certificate, api: api),
            now: Double(api.clock.machineTime.milliseconds) / 1000)
    }

    /// Checks the sender and the app again, because the accounts may have changed since the request's headers.
    /// - Parameter deletion: the rejection if the app was deleted.
    mutating func checkAgain(
        _ request: ProviderRequest,
        to app: AppID,
        api: ProviderAPI,
        deletion: @autoclosure () -> Rejection,
    ) throws(Rejection) {
        guard isCurrent(api) else { throw .accountsNotCurrent }
        guard version(api) != request.accountsVersion else { return }
        let accounts = current(api)
        switch request.sender {
        case .certificate(let certificate): try check(certificate, api: api)
        case .token(let token): try token.checkKey(in: accounts)
        default: break
        }
        guard accounts.app(app) != nil else { throw deletion() }
    }
}
