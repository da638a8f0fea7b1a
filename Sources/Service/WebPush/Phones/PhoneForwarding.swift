import Connections
import Credentials
import Crypto
package import Delivery
package import Logging
package import Notifications
import Storage
import Synchronization
import Trust

/// Makes notifications of messages to phones, from the template of the app, and forwards them to its upstream.
package final class PhoneForwarding: PhoneSending {
    /// Nil until the listener has its address.
    private let origin = Mutex<String?>(nil)
    private let port: any Forwarding
    private let via: [Environment: String]
    private let accounts: any Accounts
    private let bodies: (any WebPushBodies)?
    private let log: any DeliveryLog
    private let clock: ServiceClock
    private let logger: Logger
    private let lines = Mutex(LineRates<Line>())

    /// - Parameters:
    ///   - via: the value of `via` for each environment, by which gateways find that they form a loop.
    ///   - bodies: keeps the bodies that do not fit into a notification; nil if none are kept.
    package init(
        port: any Forwarding,
        via: [Environment: String],
        accounts: any Accounts,
        bodies: (any WebPushBodies)?,
        log: any DeliveryLog,
        clock: ServiceClock,
        logger: Logger,
    ) {
        self.port = port
        self.via = via
        self.accounts = accounts
        self.bodies = bodies
        self.log = log
        self.clock = clock
        self.logger = logger
    }

    /// - Parameter origin: with which the URLs of kept bodies begin.
    package func begin(at origin: String) { self.origin.withLock { $0 = origin } }

    /// The path of kept bodies, before the 43 characters.
    package static let fetchPath = EndpointID.path + "f/"

    package func send(
        _ message: WebPushMessage, _ id: NotificationID, ttl: UInt64, extra: String?, to phone: Phone
    ) async -> PhoneOutcome {
        let place = UpstreamPlace(bundleID: phone.app.bundleID, environment: phone.environment)
        do throws(Trouble) {
            return try await send(message, id, ttl, extra, phone, place)
        } catch {
            report(error.kind, error.cause, of: place)
            return .unavailable(error.cause, retryAfter: error.retryAfter)
        }
    }

    // MARK: Forwarding

    private func send(
        _ message: WebPushMessage, _ id: NotificationID, _ ttl: UInt64, _ extra: String?, _ phone: Phone,
        _ place: UpstreamPlace,
    ) async throws(Trouble) -> PhoneOutcome {
        let current = accounts.current
        guard let upstream = current.upstreams[place] else {
            throw Trouble(.noUpstream, "The app has no upstream in this environment.")
        }
        guard upstream.acceptsGrants else {
            throw Trouble(.noUpstream, "The app's upstream takes only what teams send themselves.")
        }
        let values = WebPushTemplate.Values(
            message, subscription: phone.subscription.isEmpty ? nil : phone.subscription, extra: extra)
        let template = current.webPush[place]?.template ?? .usual
        let (payload, kept) = try await payload(
            values, template, ttl, phone.owner, min(phone.payloadBytes, Payload.maximumBytes))
        var push = ForwardedPush(
            deviceToken: phone.deviceToken, topic: phone.app.bundleID.rawValue, id: id.description, payload: payload,
            share: phone.share, via: via[phone.environment] ?? "")
        push.pushType = PushType.alert.rawValue
        push.priority = "\(message.urgency.upstreamPriority.rawValue)"
        push.expiration = WebPushMessage.expiration(after: ttl, at: clock.machineTime).seconds.map { "\($0)" }
        push.collapseID = message.topic.map { Self.collapseID($0, of: phone.owner, extra) }
        // A log must not have the device token, so it has what stands for the subscription.
        let subject = NotificationSubject(
            id: id, address: .deviceToken(phone.owner), topic: phone.app.bundleID.rawValue)
        let answer = await port.forward(push, to: upstream)
        for step in answer.steps(refusal: .serviceUnavailable) {
            log.record(DeliveryEvent(time: clock.time, step: step, subject: subject))
        }
        if let kept, answer.isRefusal { await remove(kept) }
        return try outcome(answer)
    }

    private func outcome(_ answer: ForwardingAnswer) throws(Trouble) -> PhoneOutcome {
        let told: UpstreamAnswer
        switch answer {
        case .answered(let answer): told = answer
        case .failed(let cause, _): throw Trouble(.noAnswer, "The upstream has not answered: \(cause)")
        }
        let reason = told.reason.flatMap(Rejection.Reason.init(rawValue:))
        switch (told.status, reason) {
        case (200, _): return .accepted
        case (410, _), (_, .badDeviceToken), (_, .deviceTokenNotForTopic):
            return .gone(
                "The upstream does not know the device token: \(told.reason ?? "410").",
                HandleEnd(told, otherwise: clock.time, clock))
        case (429, _): return .busy(retryAfter: told.retryAfter)
        default:
            throw Trouble(
                .refused, "The upstream has refused the notification: \(told.status) \(told.reason ?? "").",
                retryAfter: told.retryAfter)
        }
    }

    /// A topic belongs to one subscription, and a collapse identifier to all of a device's notifications. So it is a hash of both.
    /// At a relay's URL the extra part tells the subscriptions of a device apart.
    private static func collapseID(_ topic: String, of owner: [UInt8], _ extra: String?) -> String {
        // No topic has a blank, so different pairs have different bytes.
        let digest = SHA256.hash(data: Array("web push topic ".utf8) + owner + "\(topic) \(extra ?? "")".utf8)
        return String(decoding: Base64URL.encoded(Array(digest)), as: UTF8.self)
    }

    // MARK: Bodies

    /// Makes the payload, and keeps the body if the payload has no room for it.
    /// - Parameter limit: the largest payload, in bytes.
    /// - Returns: the digest of the kept body; nil if none was kept.
    private func payload(
        _ values: WebPushTemplate.Values, _ template: WebPushTemplate, _ ttl: UInt64, _ owner: [UInt8],
        _ limit: Int,
    ) async throws(Trouble) -> (payload: [UInt8], kept: [UInt8]?) {
        let body = values.message.body
        if body.isEmpty || template.has(.body) || !template.has(.fetch) {
            let payload = template.payload(values)
            if payload.count <= limit { return (payload, nil) }
        }
        guard !body.isEmpty, template.has(.fetch) else {
            throw Trouble(
                .tooLarge, "The message does not fit into a notification, and the app's template has no part fetch.")
        }
        guard let bodies, let origin = origin.withLock(\.self), let id = EndpointID(RandomBytes.make()) else {
            throw Trouble(.notKept, "The message does not fit into a notification, and none are kept here.")
        }
        let payload = template.payload(values, fetch: origin + Self.fetchPath + id.text)
        guard payload.count <= limit else {
            throw Trouble(.tooLarge, "The app's template does not fit into a notification, even without the message.")
        }
        let now = clock.time
        let kept = KeptBody(
            digest: EndpointKey.digest(of: id), owner: owner, body: body, expires: KeptBody.expires(after: ttl, at: now)
        )
        do throws(StoreError) {
            try await bodies.keep(kept, at: now)
        } catch {
            throw Trouble(.notKept, error.cause)
        }
        return (payload, kept.digest)
    }

    private func remove(_ digest: [UInt8]) async {
        // If this fails, the body's time ends all the same.
        do throws(StoreError) { try await bodies?.remove(digest) } catch {}
    }

    // MARK: Log

    /// Why a message was not forwarded, or not taken, and the sender is to send it again.
    private struct Trouble: Error {
        var kind: PhoneTrouble
        var cause: String
        /// When the upstream wants to be asked again, in seconds.
        var retryAfter: Int?

        init(_ kind: PhoneTrouble, _ cause: String, retryAfter: Int? = nil) {
            (self.kind, self.cause, self.retryAfter) = (kind, cause, retryAfter)
        }
    }

    /// What is logged at intervals only.
    private struct Line: Hashable {
        var place: UpstreamPlace
        var kind: PhoneTrouble
    }

    package func report(_ trouble: PhoneTrouble, _ cause: String, of place: UpstreamPlace) {
        let line = Line(place: place, kind: trouble)
        let omitted = lines.withLock { $0.admit(line, at: clock.moment.uptime.nanoseconds) }
        guard let omitted else { return }
        logger.warning(
            "A message of Web Push to a phone was not taken, and its sender was told 503",
            metadata: [
                "app": "\(place.bundleID)", "environment": "\(place.environment.rawValue)",
                "cause": "\(cause)", "not-logged-before": .stringConvertible(omitted),
            ])
    }
}

extension ForwardingAnswer {
    /// Whether the upstream has certainly not accepted the notification.
    fileprivate var isRefusal: Bool {
        switch self {
        case .answered(let told): told.status != 200
        case .failed(_, let mayHaveBeenTaken): !mayHaveBeenTaken
        }
    }
}
