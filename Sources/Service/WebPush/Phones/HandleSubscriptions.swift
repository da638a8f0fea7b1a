import Connections
package import Delivery
import Notifications
import Rates
import Storage
package import Trust

/// The phones that endpoints of handles stand for. Messages to them obey the limits of their grants, as notifications do.
package final class HandleSubscriptions: Sendable {
    private let endpoints: any HandleEndpoints
    private let grants: any GrantStore
    let bodies: any WebPushBodies
    private let handleKey: HandleKey
    private let meter: GrantMeter
    private let rules: GrantRules
    private let accounts: any Accounts
    private let sending: any PhoneSending
    private let clock: ServiceClock

    /// - Parameters:
    ///   - meter: counts what grants send, and the answers to it.
    ///   - rules: say when handles end.
    package init(
        endpoints: any HandleEndpoints,
        grants: any GrantStore,
        bodies: any WebPushBodies,
        handleKey: HandleKey,
        meter: GrantMeter,
        rules: GrantRules,
        accounts: any Accounts,
        sending: any PhoneSending,
        clock: ServiceClock,
    ) {
        self.endpoints = endpoints
        self.grants = grants
        self.bodies = bodies
        self.handleKey = handleKey
        self.meter = meter
        self.rules = rules
        self.accounts = accounts
        self.sending = sending
        self.clock = clock
    }

    /// Finds the phone of an endpoint.
    /// - Parameter digest: the hash of the endpoint.
    /// - Returns: nil if there is none, if its handle has ended, or if its grant was revoked. A grant whose time is over may get
    ///   another one, so that is one of its limits.
    func find(_ digest: [UInt8]) async throws(StoreError) -> HandleSubscription? {
        guard let (endpoint, handle) = try await endpoints.endpoint(with: digest) else { return nil }
        let (accounts, now) = (accounts.current, clock.time)
        guard let grant = accounts.grants[handle.grant], grant.revoked == nil,
            let app = accounts.app(handle.app), app.bundleID == grant.bundleID
        else { return nil }
        guard HandleSweep(rules: rules, at: now).end(of: handle) == nil else {
            // Its sender is told that it is gone, so it stays gone if the app registers the handle again.
            try await endpoints.removeEndpoint(with: digest)
            return nil
        }
        return HandleSubscription(
            endpoint: endpoint, handle: handle, grant: grant, app: app, isPlain: isPlain(grant, app, handle.environment)
        )
    }

    private func isPlain(_ grant: Grant, _ app: App, _ environment: Environment) -> Bool {
        let place = UpstreamPlace(bundleID: app.bundleID, environment: environment)
        return !grant.limits.encryptedOnly && accounts.current.webPush[place]?.isPlain ?? false
    }

    /// Sends a message within the limits of the phone's grant.
    func send(
        _ message: WebPushMessage, _ id: NotificationID, timeToLive: UInt64, to phone: HandleSubscription
    ) async throws(PhoneRefusal) {
        do throws(PhoneRefusal) {
            try check(message, phone)
            try await forward(message, id, timeToLive, phone)
            meter.answered(phone.grant.id, "200")
        } catch {
            meter.answered(phone.grant.id, error.reason.rawValue)
            throw error
        }
    }

    /// Checks the limits of the grant that concern a message.
    private func check(_ message: WebPushMessage, _ phone: HandleSubscription) throws(PhoneRefusal) {
        let grant = phone.grant
        guard !grant.isSuspended else {
            throw .busy(
                "The app's publisher has suspended the grant of this endpoint.",
                retryAfter: WebPushLimits.retryAfterSuspended, limit: nil)
        }
        let request = GrantLimits.Request(
            topic: phone.app.bundleID.rawValue, pushType: .alert, priority: message.urgency.upstreamPriority)
        do throws(Rejection) {
            try grant.limits.check(request, at: clock.time)
        } catch {
            throw unavailable(
                .grantLimit, error.detail ?? "The limits of the endpoint's grant refuse the message.", phone)
        }
        if let refusal = meter.spend(grant) {
            throw .busy(
                refusal.rejection.detail ?? "The grant of this endpoint sends too much.",
                retryAfter: refusal.retryAfter, limit: .grantRate)
        }
    }

    private func unavailable(_ trouble: PhoneTrouble, _ cause: String, _ phone: HandleSubscription) -> PhoneRefusal {
        sending.report(
            trouble, cause, of: UpstreamPlace(bundleID: phone.app.bundleID, environment: phone.handle.environment))
        return .unavailable(cause)
    }

    private func forward(
        _ message: WebPushMessage, _ id: NotificationID, _ timeToLive: UInt64, _ phone: HandleSubscription
    ) async throws(PhoneRefusal) {
        guard let token = handleKey.open(phone.handle.token, of: phone.handle.handle) else {
            throw unavailable(.unreadableToken, "The device token of the endpoint's handle cannot be read.", phone)
        }
        let outcome = await sending.send(
            message, id, ttl: timeToLive, extra: nil,
            to: Phone(
                deviceToken: token, app: phone.app, environment: phone.handle.environment,
                share: ForwardingShare(phone.grant.id), subscription: phone.endpoint.name,
                owner: phone.endpoint.digest, payloadBytes: phone.grant.limits.payloadBytes ?? Payload.maximumBytes))
        if case .gone(_, let end) = outcome {
            // If this fails, the next message is forwarded, and the upstream gives the same answer.
            if let end { try? await grants.end(phone.handle.handle, end) }
            try? await endpoints.removeEndpoint(with: phone.endpoint.digest)
        }
        if let refusal = outcome.refusal { throw refusal }
    }
}
