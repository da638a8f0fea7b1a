import Delivery
import HTTP2
import Notifications
import Trust

// Determines who sends a request, and whether the sender may still send to its topic.
extension ProviderConnection {
    func tokenSender(_ value: Span<UInt8>) -> ProviderRequest.Sender {
        do throws(Rejection) {
            return .token(try memory.token(value, gateway: gateway))
        } catch {
            return .rejected(error)
        }
    }

    /// Sets a request's sender from the connection's certificate, and its topic if the request has none.
    func identify(_ request: ProviderRequest, by certificate: ProviderIdentity) {
        do throws(Rejection) {
            try check(certificate)
            request.sender = .certificate(certificate)
        } catch {
            request.sender = .rejected(error)
        }
        if case .absent = request.topic, let topic = certificate.defaultTopic {
            request.topic = .value(memory.topic(topic, gateway: gateway))
        }
    }

    func check(_ certificate: ProviderIdentity) throws(Rejection) {
        let accounts = memory.current(gateway)
        try certificate.check(
            environment: gateway.environment, isTrusted: accounts.trusts(certificate.serial), now: now)
    }

    /// The machine's time, as for certificates, in seconds since 1970.
    private var now: Double { Double(gateway.clock.machineTime.milliseconds) / 1000 }

    /// Checks the sender and the app again, because the accounts may have changed since the request's headers.
    private func checkAgain(
        _ request: ProviderRequest,
        to addressed: ProviderRequest.Addressed,
    ) throws(Rejection) {
        guard memory.isCurrent(gateway) else { throw .accountsNotCurrent }
        guard memory.version(gateway) != request.accountsVersion else { return }
        let accounts = memory.current(gateway)
        switch request.sender {
        case .certificate(let certificate): try check(certificate)
        case .token(let token): try token.checkKey(in: accounts)
        default: break
        }
        guard accounts.app(addressed.destination.app) != nil else {
            throw Rejection(.topicDisallowed, detail: "The app with the topic \(addressed.topic.name) was deleted.")
        }
    }

    /// Makes a request's submission. The request then counts as settled, and no longer has its body.
    func submission(_ stream: StreamID, _ request: ProviderRequest) throws(Rejection) -> Submission {
        guard let verdict = request.verdict else { throw Rejection(.internalServerError) }
        let addressed = try verdict.get()
        try checkAgain(request, to: addressed)
        let id = request.id.present ?? .random(using: &random)
        request.id = .value(id)
        try gateway.checkActivity(of: addressed)
        let notification = try gateway.rules.notification(request, to: addressed, id: id)
        request.isSettled = true
        request.body = []
        return Submission(
            destination: addressed.destination,
            deviceToken: addressed.deviceToken,
            generation: addressed.generation,
            notification: notification,
            ticket: UInt64(stream.rawValue),
        )
    }
}
